//! A server over stdio whose answers a test writes in shell.

use gateway_upstream::{Endpoint, ProtocolChoice, UpstreamSpec};

use crate::fleet::quick;

/// A legacy server; `list` are commands that answer `tools/list` for the request `$id`.
pub(crate) fn scripted(id: &str, list: &str) -> UpstreamSpec {
    let script = format!(
        r#"
answer() {{ printf '{{"jsonrpc":"2.0","id":%s,"result":%s}}\n' "$id" "$1"; }}
while read -r line; do
  id=${{line#*\"id\":}}; id=${{id%%[,\}}]*}}
  case $line in
    *'"initialize"'*) answer '{{"protocolVersion":"2025-06-18","capabilities":{{"tools":{{}},"prompts":{{}}}},"serverInfo":{{"name":"s","version":"1"}}}}';;
    *'"ping"'*) answer '{{}}';;
    *'"tools/call"'*) answer '{{"content":[]}}';;
    *'/list"'*) {list} ;;
  esac
done
"#
    );
    let endpoint = Endpoint::Stdio {
        command: "/bin/sh".to_owned(),
        args: vec!["-c".to_owned(), script],
        env: std::collections::BTreeMap::new(),
        cwd: None,
    };
    let mut spec = quick(UpstreamSpec::new(id, endpoint));
    spec.protocol = ProtocolChoice::Legacy;
    spec
}
