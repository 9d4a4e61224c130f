//! `config`: the format of the configuration file.

use crate::run;

#[test]
fn the_schema_is_published() {
    let run = run(&["config", "schema"], "");
    assert_eq!((run.status, run.stderr.as_str()), (0, ""));
    let schema = run.json();
    assert_eq!(schema["properties"]["port"]["default"], 8787, "{schema}");
    assert!(schema["$defs"]["server"]["properties"]["command"]["description"].is_string(), "{schema}");
}
