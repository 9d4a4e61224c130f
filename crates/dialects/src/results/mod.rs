//! Tool results as models read them.
