//! Tool calls as models send them.
