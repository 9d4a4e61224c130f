//! The fixture does what it says: well where it should, wrong where it was told to.
