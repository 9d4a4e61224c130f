//! TLS to servers of databases: certificates are always checked, against those that the system trusts.

use std::{io, sync::Arc};

use rustls::{ClientConfig, RootCertStore, crypto::ring};

/// The settings of a client.
pub(crate) fn client_config() -> io::Result<Arc<ClientConfig>> {
    let mut roots = RootCertStore::empty();
    // Some of the system's certificates may be odd; the others are enough.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}
