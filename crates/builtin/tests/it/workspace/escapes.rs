//! Ways out of the directory: every one is refused by every tool that takes a path.

use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use serde_json::{Value, json};

use super::workbench::{BOTH, Bench, CANARY, Resolves};

/// Every tool that takes a path, with arguments that would work on a file.
fn calls(path: &str) -> Vec<(&'static str, Value)> {
    let replace = json!([{"search": CANARY, "replace": "gone"}]);
    vec![
        ("read_file", json!({"path": path})),
        ("read_file", json!({"path": path, "start_line": 1, "end_line": 1})),
        ("write_to_file", json!({"path": path, "content": "evil\n", "line_count": 1})),
        ("list_files", json!({"path": path})),
        ("list_files", json!({"path": path, "recursive": true})),
        ("search_files", json!({"path": path, "regex": "."})),
        (
            "apply_diff",
            json!({"path": path, "diff": format!("<<<<<<< SEARCH\n{CANARY}\n=======\ngone\n>>>>>>> REPLACE")}),
        ),
        ("insert_content", json!({"path": path, "operations": [{"start_line": 1, "content": "evil"}]})),
        ("search_and_replace", json!({"path": path, "operations": replace})),
    ]
}

/// Puts links of all kinds into the workspace.
fn furnish(bench: &Bench) {
    let (root, outside) = (bench.root(), bench.outside());
    bench.put("a/inner.txt", "inner").put("plain.txt", "plain");
    symlink(&outside, root.join("out")).unwrap();
    symlink("../outside", root.join("out-relative")).unwrap();
    symlink(outside.join("canary.txt"), root.join("canary-link")).unwrap();
    symlink("../canary.txt", root.join("canary-relative")).unwrap();
    symlink("../../canary.txt", root.join("a/up")).unwrap();
    symlink(outside.join("new.txt"), root.join("dangling")).unwrap();
    symlink("../outside/new-too.txt", root.join("a/dangling")).unwrap();
    symlink("out", root.join("chain")).unwrap();
    symlink(".git", root.join("renamed")).unwrap();
    symlink("../.git/config", root.join("a/renamed")).unwrap();
    symlink("chain", root.join("chain-of-chain")).unwrap();
    symlink("loop", root.join("loop")).unwrap();
    symlink("/", root.join("slash")).unwrap();
    symlink("/proc/self/cwd", root.join("magic")).unwrap();
    symlink("..", root.join("parent")).unwrap();
    symlink(".", root.join("a/self")).unwrap();
}

fn attempts(bench: &Bench) -> Vec<String> {
    let outside = bench.outside().join("canary.txt").display().to_string();
    let root = bench.root().display().to_string();
    let mut attempts: Vec<String> = [
        // Steps upwards.
        "..",
        "../",
        "../canary.txt",
        "../outside/canary.txt",
        "./../canary.txt",
        "a/../../canary.txt",
        "a/./../../canary.txt",
        "a//..//..//canary.txt",
        "a/b/../../../canary.txt",
        "../root/../canary.txt",
        "..//canary.txt",
        "a/..",
        "plain.txt/../../canary.txt",
        ".../canary.txt",
        ".. /canary.txt",
        " ../canary.txt",
        "../.",
        "nowhere/../../canary.txt",
        // Absolute, and what others take for it.
        "/",
        "//",
        "/etc/passwd",
        "//etc/passwd",
        "/proc/self/root/etc/passwd",
        "/proc/self/cwd/Cargo.toml",
        "/dev/stdin",
        "/dev/fd/0",
        "~",
        "~/.ssh/id_rsa",
        "~root/.profile",
        "file:///etc/passwd",
        "file:/etc/passwd",
        "C:\\Windows\\win.ini",
        "C:/Windows/win.ini",
        "c:canary.txt",
        "\\\\server\\share\\x",
        "//server/share/x",
        "\\\\?\\C:\\x",
        "\\etc\\passwd",
        // Backslashes and encodings.
        "..\\canary.txt",
        "a\\..\\..\\canary.txt",
        "..\\/canary.txt",
        "%2e%2e/canary.txt",
        "%2e%2e%2fcanary.txt",
        "..%2fcanary.txt",
        "..%5ccanary.txt",
        "%252e%252e%252fcanary.txt",
        "..%00/canary.txt",
        "\u{ff0e}\u{ff0e}/canary.txt",
        "..\u{2215}canary.txt",
        "\u{2025}/canary.txt",
        // Characters.
        "../canary.txt\0.png",
        "plain.txt\0",
        "a\0/../../canary.txt",
        "..\n/canary.txt",
        "\u{7f}",
        "",
        // Links.
        "out",
        "out/",
        "out/canary.txt",
        "out/new.txt",
        "out-relative/canary.txt",
        "canary-link",
        "canary-link/",
        "canary-relative",
        "a/up",
        "dangling",
        "a/dangling",
        "chain/canary.txt",
        "chain-of-chain/canary.txt",
        "loop",
        "loop/x",
        "slash/etc/passwd",
        "magic/Cargo.toml",
        "parent/canary.txt",
        "parent/outside/canary.txt",
        "a/self/self/up",
        "out/../canary.txt",
        // Data of version control.
        ".git/config",
        ".git/hooks/pre-commit",
        "a/.GIT/config",
        ".git",
        "renamed/config",
        "renamed",
        "a/renamed",
    ]
    .map(str::to_owned)
    .into();
    attempts.extend([
        outside.clone(),
        format!("file://{outside}"),
        format!("a/{outside}/../../../../..{outside}"),
        format!("{root}/../canary.txt"),
        "../".repeat(40) + "etc/passwd",
        "a/".repeat(100) + "x",
        "x".repeat(300),
        "x/".repeat(3_000),
        format!("a/{}/../../../canary.txt", "b".repeat(255)),
    ]);
    attempts
}

#[tokio::test]
async fn no_path_leads_out() {
    for resolves in BOTH {
        let bench = Bench::with(resolves, |_| {});
        furnish(&bench);
        let (beside, names) = (bench.beside(), bench.names());
        let attempts = attempts(&bench);
        assert!(attempts.len() >= 80, "{}", attempts.len());
        for path in &attempts {
            for (tool, arguments) in calls(path) {
                let answer = bench.call(tool, arguments).await;
                let text = answer.expect_err(&format!("{resolves:?} {tool} {path:?} was not refused"));
                assert!(!text.contains(CANARY), "{resolves:?} {tool} {path:?}: {text}");
                assert!(!text.contains("root:x:0"), "{resolves:?} {tool} {path:?}: {text}");
                assert!(text.len() < 1_000, "{resolves:?} {tool} {path:?}: {text}");
            }
        }
        assert_eq!(bench.beside(), beside, "{resolves:?}: something outside was changed");
        assert_eq!(bench.names(), names, "{resolves:?}: something was made inside");
    }
}

#[tokio::test]
async fn listing_and_searching_do_not_go_through_links() {
    for resolves in BOTH {
        let bench = Bench::with(resolves, |_| {});
        furnish(&bench);
        let found = bench.call("search_files", json!({"path": ".", "regex": "."})).await.unwrap();
        assert_eq!(found, "a/inner.txt:1:inner\nplain.txt:1:plain", "{resolves:?}");
        let listed = bench.call("list_files", json!({"path": ".", "recursive": true})).await.unwrap();
        let lines: Vec<&str> = listed.lines().collect();
        assert!(
            lines.contains(&"a/") && lines.contains(&"a/inner.txt") && lines.contains(&"out"),
            "{listed}"
        );
        assert!(!listed.contains("out/") && !listed.contains("self/"), "{resolves:?}: {listed}");
    }
}

/// Where the kernel resolves, links that stay inside are followed by tools that read; none is by tools that write.
#[tokio::test]
async fn links_that_stay_inside_are_read_but_not_written() {
    let bench = Bench::new();
    bench.put("real/file.txt", "text\n");
    symlink("real", bench.root().join("linked")).unwrap();
    symlink("real/file.txt", bench.root().join("linked.txt")).unwrap();
    for path in ["linked/file.txt", "linked.txt"] {
        assert_eq!(bench.call("read_file", json!({"path": path})).await.unwrap(), "text\n");
        assert_eq!(
            bench.call("search_files", json!({"path": path, "regex": "t"})).await.unwrap(),
            format!("{path}:1:text")
        );
        let writing = json!({"path": path, "content": "x", "line_count": 1});
        let refused = bench.call("write_to_file", writing).await.unwrap_err();
        assert!(refused.contains("symbolic link"), "{refused}");
    }
    assert_eq!(bench.call("list_files", json!({"path": "linked"})).await.unwrap(), "linked/file.txt");
    bench.check_file("real/file.txt", "text\n");
    assert!(bench.root().join("linked.txt").is_symlink());
}

/// Without the kernel's help no link is followed at all.
#[tokio::test]
async fn by_steps_no_link_is_followed() {
    let bench = Bench::with(Resolves::Steps, |_| {});
    bench.put("real/file.txt", "text\n");
    symlink("real", bench.root().join("linked")).unwrap();
    let refused = bench.call("read_file", json!({"path": "linked/file.txt"})).await.unwrap_err();
    assert!(refused.contains("symbolic link"), "{refused}");
    assert_eq!(bench.call("read_file", json!({"path": "real/file.txt"})).await.unwrap(), "text\n");
    let nested = json!({"path": "new/deep/file.txt", "content": "made\n", "line_count": 1});
    bench.call("write_to_file", nested).await.unwrap();
    bench.check_file("new/deep/file.txt", "made\n");
}

/// Pipes and sockets are refused at once: opening a pipe that nobody writes to would wait for ever.
#[tokio::test]
async fn what_is_no_file_is_refused_without_waiting() {
    for resolves in BOTH {
        let bench = Bench::with(resolves, |_| {});
        let made = std::process::Command::new("mkfifo").arg(bench.root().join("pipe")).status().unwrap();
        assert!(made.success());
        let _listener = UnixListener::bind(bench.root().join("socket")).unwrap();
        bench.put("file.txt", "x\n");
        for path in ["pipe", "socket"] {
            for (tool, arguments) in calls(path) {
                let text = bench.call(tool, arguments).await.unwrap_err();
                assert!(
                    text.contains("neither a file nor a directory")
                        || text.contains("where a directory must be"),
                    "{resolves:?} {tool} {path}: {text}"
                );
            }
        }
        assert_eq!(
            bench.call("search_files", json!({"path": ".", "regex": "."})).await.unwrap(),
            "file.txt:1:x"
        );
    }
}

#[tokio::test]
async fn directories_and_files_are_not_taken_for_each_other() {
    let bench = Bench::new();
    bench.put("dir/file.txt", "x\n");
    for (tool, arguments) in calls("dir") {
        if !["list_files", "search_files"].contains(&tool) {
            let text = bench.call(tool, arguments).await.unwrap_err();
            assert!(text.contains("is a directory"), "{tool}: {text}");
        }
    }
    for (path, expected) in
        [("dir/file.txt/", "is a directory, not a file"), ("dir/file.txt/x", "where a directory must be")]
    {
        let writing = json!({"path": path, "content": "", "line_count": 0});
        let text = bench.call("write_to_file", writing).await.unwrap_err();
        assert!(text.contains(expected), "{path}: {text}");
    }
    let text = bench.call("list_files", json!({"path": "dir/file.txt"})).await.unwrap_err();
    assert!(text.contains("where a directory must be"), "{text}");
    bench.check_file("dir/file.txt", "x\n");
}
