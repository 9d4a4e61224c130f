//! Servers given on the command line instead of in a configuration.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Result, bail};
use clap::Args;
use gateway_upstream::{ConnectMode, Endpoint, HttpMode, UpstreamSpec};

/// Flags of a server that is given on the command line.
#[derive(Debug, Args)]
pub(crate) struct AdHocFlags {
    /// A header for the URL, for example 'Authorization: Bearer …' (repeatable)
    #[arg(long, value_name = "NAME: VALUE")]
    header: Vec<String>,
    /// The command of a server over stdio, or its URL
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

impl AdHocFlags {
    /// Whether a command or URL is given after `--`.
    #[cfg(feature = "agent")]
    pub(crate) fn is_given(&self) -> bool {
        !self.command.is_empty()
    }

    /// The server given by the words after `--` or by `url`, if any.
    pub(crate) fn spec(&self, url: Option<&str>) -> Result<Option<UpstreamSpec>> {
        let mut spec = match (url, self.command.as_slice()) {
            (Some(url), []) if is_url(url) => self.http(url)?,
            (Some(url), [_, ..]) => bail!("`{url}` and a command after `--`: only one server can be used"),
            (Some(word), []) => {
                bail!("`{word}` is not a URL; a command goes after `--`, a configured server after --server")
            }
            (None, [url]) if is_url(url) => self.http(url)?,
            (None, [command, args @ ..]) => {
                if !self.header.is_empty() {
                    bail!("--header is for a URL, and `{command}` is a command");
                }
                // Called after its program.
                let name = Path::new(command).file_stem().and_then(|name| name.to_str()).unwrap_or("server");
                let (command, args) = (command.clone(), args.to_vec());
                UpstreamSpec::new(name, Endpoint::Stdio { command, args, env: BTreeMap::new(), cwd: None })
            }
            (None, []) if !self.header.is_empty() => {
                bail!("--header is for a URL on the command line; those of configured servers are configured")
            }
            (None, []) => return Ok(None),
        };
        spec.connect = ConnectMode::Eager;
        Ok(Some(spec))
    }

    fn http(&self, url: &str) -> Result<UpstreamSpec> {
        let address = match reqwest::Url::parse(url) {
            Ok(address) => address,
            Err(error) => bail!("`{url}` cannot be read as a URL: {error}"),
        };
        let mut headers = BTreeMap::new();
        for header in &self.header {
            // The value may be a secret, so it is not repeated.
            let Some((name, value)) = header.split_once(':') else {
                bail!("--header expects `NAME: VALUE`, and one has no colon");
            };
            headers.insert(name.trim().to_owned(), value.trim().to_owned());
        }
        let endpoint = Endpoint::Http { url: url.to_owned(), headers, mode: HttpMode::Auto };
        Ok(UpstreamSpec::new(address.host_str().unwrap_or("server"), endpoint))
    }
}

/// Whether a word is a URL rather than a name.
pub(crate) fn is_url(word: &str) -> bool {
    word.starts_with("http://") || word.starts_with("https://")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(header: &[&str], command: &[&str]) -> AdHocFlags {
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        AdHocFlags { header: owned(header), command: owned(command) }
    }

    #[test]
    fn a_command_or_a_url_makes_a_server() {
        let spec = |flags: AdHocFlags, url: Option<&str>| {
            flags.spec(url).unwrap().map(|spec| (spec.id.to_string(), spec.endpoint))
        };
        let npx = spec(flags(&[], &["/usr/bin/npx", "-y", "x"]), None).unwrap();
        assert_eq!(npx.0, "npx");
        let arguments = vec!["-y".to_owned(), "x".to_owned()];
        let stdio = Endpoint::Stdio {
            command: "/usr/bin/npx".into(),
            args: arguments,
            env: BTreeMap::new(),
            cwd: None,
        };
        assert_eq!(npx.1, stdio);
        let headers = BTreeMap::from([("Authorization".to_owned(), "Bearer a:b".to_owned())]);
        let http = Endpoint::Http { url: "https://mcp.example/x".into(), headers, mode: HttpMode::Auto };
        for (words, url) in [(&[][..], Some("https://mcp.example/x")), (&["https://mcp.example/x"], None)] {
            let found = spec(flags(&["Authorization:  Bearer a:b"], words), url);
            assert_eq!(found, Some(("mcp.example".to_owned(), http.clone())));
        }
        assert_eq!(spec(flags(&[], &[]), None), None);
    }

    #[test]
    fn contradicting_words_are_refused() {
        let refused = |flags: AdHocFlags, url: Option<&str>, word: &str| {
            let text = flags.spec(url).unwrap_err().to_string();
            assert!(text.contains(word), "{text}");
        };
        refused(flags(&[], &[]), Some("files"), "--server");
        refused(flags(&[], &["npx"]), Some("http://a/"), "only one");
        refused(flags(&["a: b"], &["npx"]), None, "is a command");
        refused(flags(&["a: b"], &[]), None, "configured");
        refused(flags(&["secret"], &["http://a/"]), None, "no colon");
        refused(flags(&[], &["http://"]), None, "cannot be read");
    }
}
