//! The HTTP face of the gateway.
