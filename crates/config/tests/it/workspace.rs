//! The entry of a workspace in a configuration file.

use std::io;
use std::path::Path;

use gateway_config::{Endpoint, Environment, WorkspaceSpec, json_schema, parse};
use serde_json::{Value, json};

/// Reads one entry of `/etc/gateway/config.json`. `/srv/files` and `/etc/gateway/here` are directories, `/srv/file` is not.
fn read(entry: &str) -> Result<Endpoint, String> {
    let files = |path: &Path| match path.to_str().unwrap() {
        "/srv/files/." | "/etc/gateway/here/." | "/home/me/files/." => {
            Err(io::Error::new(io::ErrorKind::IsADirectory, "is a directory"))
        }
        "/srv/file/." => Err(io::Error::new(io::ErrorKind::NotADirectory, "not a directory")),
        "/srv/closed/." => Err(io::Error::new(io::ErrorKind::PermissionDenied, "permission denied")),
        _ => Err(io::Error::new(io::ErrorKind::NotFound, "no such file")),
    };
    let environment = Environment::new(|name| (name == "HOME").then(|| "/home/me".to_owned()), files);
    let text = format!("{{\"mcpServers\": {{\n\"w\": {entry}\n}}}}");
    match parse(Path::new("/etc/gateway/config.json"), &text, &environment) {
        Ok(config) => {
            assert!(config.warnings.is_empty(), "{:?}", config.warnings);
            Ok(config.servers.into_iter().next().unwrap().endpoint)
        }
        Err(errors) => Err(errors.to_string()),
    }
}

#[test]
fn entries_become_workspaces() {
    let spec = |root: &str, change: fn(&mut WorkspaceSpec)| {
        let mut spec = WorkspaceSpec::new(root);
        change(&mut spec);
        Ok(Endpoint::Workspace(spec))
    };
    assert_eq!(read(r#"{"type": "workspace", "root": "/srv/files"}"#), spec("/srv/files", |_| {}));
    assert_eq!(read(r#"{"type": "workspace", "root": "here"}"#), spec("/etc/gateway/here", |_| {}));
    assert_eq!(read(r#"{"transport": "workspace", "root": "~/files"}"#), spec("/home/me/files", |_| {}));
    let unused = r#"{"type": "workspace", "root": "/srv/nowhere", "disabled": true}"#;
    assert_eq!(read(unused), spec("/srv/nowhere", |_| {}));
    let full = r#"{"type": "workspace", "root": "/srv/files", "readOnly": true, "maxFileBytes": "2MB", "maxResults": 50}"#;
    let expected = spec("/srv/files", |spec| {
        spec.read_only = true;
        spec.max_file_bytes = 2 << 20;
        spec.max_results = 50;
    });
    assert_eq!(read(full), expected);
}

#[test]
fn wrong_entries_are_told_with_file_line_and_field() {
    for (entry, expected) in [
        (
            r#"{"type": "workspace"}"#,
            r#"/etc/gateway/config.json:2: mcpServers.w: Server "w": workspace requires "root" field"#,
        ),
        (
            r#"{"type": "workspace", "root": "/srv/nowhere"}"#,
            r#"/etc/gateway/config.json:2: mcpServers.w.root: Server "w": the directory does not exist"#,
        ),
        (r#"{"type": "workspace", "root": "/srv/file"}"#, "is a file, and must be a directory"),
        (
            r#"{"type": "workspace", "root": "/srv/closed"}"#,
            "the directory cannot be opened: permission denied",
        ),
        (r#"{"type": "workspace", "root": 5}"#, "mcpServers.w.root: must be a text"),
        (
            r#"{"type": "workspace", "root": "/srv/files", "readOnly": "yes"}"#,
            "mcpServers.w.readOnly: must be true or false",
        ),
        (
            r#"{"type": "workspace", "root": "/srv/files", "maxFileBytes": 0}"#,
            "w.maxFileBytes: must be a number of bytes",
        ),
        (
            r#"{"type": "workspace", "root": "/srv/files", "maxFileBytes": "1GB"}"#,
            "must be at most 67108864 bytes",
        ),
        (
            r#"{"type": "workspace", "root": "/srv/files", "maxResults": 0}"#,
            "a whole number from 1 to 100000",
        ),
    ] {
        let told = read(entry).unwrap_err();
        assert!(told.contains(expected), "{entry}: {told}");
    }
}

#[test]
fn the_published_schema_knows_the_fields() {
    let schema = json_schema();
    let valid = |entry: Value| jsonschema::is_valid(&schema, &json!({"mcpServers": {"w": entry}}));
    assert!(valid(
        json!({"type": "workspace", "root": ".", "readOnly": true, "maxFileBytes": "1MB", "maxResults": 9})
    ));
    assert!(!valid(json!({"type": "workspace", "root": 1})));
    assert!(!valid(json!({"type": "workspace", "root": ".", "readOnly": "yes"})));
    assert!(!valid(json!({"type": "workspace", "root": ".", "maxResults": 0})));
}

/// What the system says of real directories and files is what the reader expects.
#[test]
fn real_directories_are_told_from_files() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("file"), "x").unwrap();
    std::fs::create_dir(folder.path().join("dir")).unwrap();
    let read = |root: &str| {
        let text = json!({"mcpServers": {"w": {"type": "workspace", "root": root}}}).to_string();
        parse(&folder.path().join("config.json"), &text, &Environment::of_process())
    };
    let config = read("dir").unwrap();
    assert_eq!(
        config.servers[0].endpoint,
        Endpoint::Workspace(WorkspaceSpec::new(folder.path().join("dir")))
    );
    for (root, expected) in [("file", "is a file"), ("nowhere", "does not exist")] {
        let told = read(root).unwrap_err().to_string();
        assert!(told.contains(expected), "{told}");
    }
}
