//! `.env`: what is read without being named.

use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
use std::path::{Path, PathBuf};

use crate::Run;
use crate::sandbox::Sandbox;

/// A sandbox with `a/b`, and `.env` in `folder` that names a program to run; with the program's trace.
fn with_dotenv(folder: &str) -> (Sandbox, PathBuf) {
    let sandbox = Sandbox::new();
    std::fs::create_dir_all(sandbox.path("a/b")).unwrap();
    let trace = sandbox.path("trace");
    let text = format!("MCP_SERVER_COMMAND=/usr/bin/env touch {}\n", trace.display());
    sandbox.write(&format!("{folder}.env"), &text);
    (sandbox, trace)
}

/// Lists tools in `a/b`.
fn tools(sandbox: &Sandbox, flags: &[&str], variables: &[(&str, &str)]) -> Run {
    let mut command = sandbox.command(&[&["tools"], flags].concat());
    command.current_dir(sandbox.path("a/b")).envs(variables.iter().copied());
    let output = command.output().unwrap();
    Run {
        status: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn only_the_working_directory_counts_unless_asked() {
    let check = |folder: &str, flags: &[&str], variables: &[(&str, &str)], is_run: bool| {
        let (sandbox, trace) = with_dotenv(folder);
        let run = tools(&sandbox, flags, variables);
        assert_eq!(trace.exists(), is_run, "{folder} {flags:?} {variables:?}: {} {}", run.stdout, run.stderr);
    };
    check("a/b/", &[], &[], true);
    for above in ["", "a/"] {
        check(above, &[], &[], false);
        check(above, &["--env-parents"], &[], true);
        check(above, &[], &[("MCP_GATEWAY_ENV_PARENTS", "true")], true);
        check(above, &[], &[("MCP_GATEWAY_ENV_PARENTS", "0")], false);
    }
}

#[test]
fn a_file_that_others_could_have_written_is_not_read() {
    let refused = |spoil: &dyn Fn(&Path) -> std::io::Result<()>, words: &str| {
        let (sandbox, trace) = with_dotenv("a/b/");
        let path = sandbox.path("a/b/.env");
        if spoil(&path).is_err_and(|error| error.kind() == std::io::ErrorKind::PermissionDenied) {
            // Only root can give files away.
            return;
        }
        let run = tools(&sandbox, &[], &[]);
        assert!(!trace.exists(), "{words}");
        let expected = format!("warning: {}: it was not read: {words}\n", path.display());
        assert_eq!((run.status, run.stderr.as_str()), (0, expected.as_str()), "{}", run.stdout);
    };
    let everybody = |path: &Path| std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o646));
    refused(&everybody, "everybody may write to it; take that right away (chmod o-w)");
    let foreign = |path: &Path| chown(path, Some(54_321), None);
    refused(&foreign, "it belongs to another user (54321); take it over or remove it");
    let device = |path: &Path| std::fs::remove_file(path).and_then(|()| symlink("/dev/null", path));
    refused(&device, "it is no regular file");
}
