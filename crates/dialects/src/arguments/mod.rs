//! Arguments: parsing, repair, coercion, validation.
