//! Addresses of model servers, as people write them in variables.

/// The port of Ollama.
const OLLAMA_PORT: u16 = 11_434;

/// The address that `OLLAMA_HOST` means.
pub fn ollama_address(host: &str) -> String {
    address(host, Some(OLLAMA_PORT))
}

/// The address of a server that is named by its URL, or by host and port alone.
pub fn server_address(host: &str) -> String {
    address(host, None)
}

/// A server listens where the same text says, so it may name all interfaces.
fn address(host: &str, usual_port: Option<u16>) -> String {
    let host = host.trim();
    let (has_scheme, address) = if host.contains("://") {
        (true, host.to_owned())
    } else if let Some(port) = host.strip_prefix(':') {
        (false, format!("http://127.0.0.1:{port}"))
    } else {
        (false, format!("http://{host}"))
    };
    let Ok(mut url) = url::Url::parse(&address) else { return address };
    let is_everywhere = matches!(url.host(), Some(url::Host::Ipv4(ip)) if ip.is_unspecified())
        || matches!(url.host(), Some(url::Host::Ipv6(ip)) if ip.is_unspecified());
    if is_everywhere {
        let _ = url.set_host(Some("127.0.0.1"));
    }
    // A scheme brings its own port, as Ollama itself has it.
    if !has_scheme && url.port().is_none() {
        let _ = url.set_port(usual_port);
    }
    url.as_str().trim_end_matches('/').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ollama_is_where_its_variable_says() {
        for (host, address) in [
            ("127.0.0.1:4000", "http://127.0.0.1:4000"),
            ("0.0.0.0", "http://127.0.0.1:11434"),
            ("0.0.0.0:4000", "http://127.0.0.1:4000"),
            ("[::]:4000", "http://127.0.0.1:4000"),
            (":4000", "http://127.0.0.1:4000"),
            ("models.example", "http://models.example:11434"),
            ("https://models.example", "https://models.example"),
            ("http://models.example:4000/", "http://models.example:4000"),
        ] {
            assert_eq!(ollama_address(host), address, "{host}");
        }
    }

    #[test]
    fn other_servers_have_no_usual_port() {
        for (host, address) in [
            ("127.0.0.1:18555", "http://127.0.0.1:18555"),
            (":18555", "http://127.0.0.1:18555"),
            ("models.example", "http://models.example"),
            ("https://models.example/v1/", "https://models.example/v1"),
            ("models.example:1234/v1", "http://models.example:1234/v1"),
        ] {
            assert_eq!(server_address(host), address, "{host}");
        }
    }
}
