//! Whole conversations, to and from every dialect.
