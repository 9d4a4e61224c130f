//! The configuration file.
