//! Reading, writing, listing and searching.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use super::workbench::Bench;

async fn read(bench: &Bench, range: Value) -> Result<String, String> {
    let mut arguments = json!({"path": "f.txt"});
    arguments.as_object_mut().unwrap().extend(range.as_object().unwrap().clone());
    bench.call("read_file", arguments).await
}

#[tokio::test]
async fn lines_are_counted_from_one_and_the_last_is_included() {
    let bench = Bench::new();
    bench.put("f.txt", "one\ntwo\r\nthree\nfour");
    for (range, expected) in [
        (json!({}), "one\ntwo\r\nthree\nfour"),
        (json!({"start_line": 1, "end_line": 1}), "one\n"),
        (json!({"start_line": 2, "end_line": 3}), "two\r\nthree\n"),
        (json!({"start_line": 2, "end_line": 2}), "two\r\n"),
        (json!({"start_line": 4}), "four"),
        (json!({"end_line": 2}), "one\ntwo\r\n"),
        (json!({"start_line": 3, "end_line": 99}), "three\nfour"),
        (json!({"start_line": null, "end_line": 1.0}), "one\n"),
    ] {
        assert_eq!(read(&bench, range.clone()).await.as_deref(), Ok(expected), "{range}");
    }
    for (range, expected) in [
        (json!({"start_line": 0}), "argument `start_line` is 0, but lines are counted from 1"),
        (json!({"start_line": 3, "end_line": 2}), "start_line 3 is after end_line 2"),
        (json!({"start_line": 5}), "path `f.txt`: has 4 lines, so there is no line 5"),
        (json!({"start_line": -1}), "argument `start_line` must be a whole number, 1 or more, not -1"),
        (json!({"start_line": "1"}), "argument `start_line` must be a whole number, 1 or more, not a string"),
        (json!({"lines": 1}), "there is no argument `lines`; the arguments are: path, start_line, end_line"),
    ] {
        assert_eq!(read(&bench, range.clone()).await.unwrap_err(), expected, "{range}");
    }
}

#[tokio::test]
async fn an_empty_file_is_an_empty_text() {
    let bench = Bench::new();
    bench.put("f.txt", "");
    assert_eq!(read(&bench, json!({})).await.unwrap(), "");
    assert_eq!(read(&bench, json!({"start_line": 1})).await.unwrap(), "");
    assert_eq!(
        read(&bench, json!({"start_line": 2})).await.unwrap_err(),
        "path `f.txt`: has 0 lines, so there is no line 2"
    );
}

#[tokio::test]
async fn a_part_of_a_big_file_can_be_read() {
    let bench = Bench::with(super::workbench::Resolves::Kernel, |spec| spec.max_file_bytes = 1_000);
    let lines: Vec<String> = (1..=50_000).map(|number| format!("line {number}")).collect();
    bench.put("f.txt", lines.join("\n"));
    let refused = read(&bench, json!({})).await.unwrap_err();
    assert!(refused.contains("1000 are the most here; read a part of it"), "{refused}");
    let part = read(&bench, json!({"start_line": 40_000, "end_line": 40_001})).await.unwrap();
    assert_eq!(part, "line 40000\nline 40001\n");
    assert_eq!(read(&bench, json!({"start_line": 50_000})).await.unwrap(), "line 50000");
    let too_many = read(&bench, json!({"start_line": 10, "end_line": 1_000})).await.unwrap_err();
    assert!(too_many.contains("these lines have more than 1000 bytes"), "{too_many}");
}

#[tokio::test]
async fn binary_files_are_refused_and_left_alone() {
    let bench = Bench::new();
    for (content, expected) in
        [(b"a\0b\n".as_slice(), "is a binary file"), (b"caf\xe9\n", "is no UTF-8 text")]
    {
        bench.put("f.txt", content);
        let calls = [
            ("read_file", json!({"path": "f.txt"})),
            ("write_to_file", json!({"path": "f.txt", "content": "x", "line_count": 1})),
            ("apply_diff", json!({"path": "f.txt", "diff": "@@ -1 +1 @@\n-a\n+b\n"})),
            ("insert_content", json!({"path": "f.txt", "operations": [{"start_line": 1, "content": "x"}]})),
            ("search_and_replace", json!({"path": "f.txt", "operations": [{"search": "a", "replace": "b"}]})),
        ];
        for (tool, arguments) in calls {
            let text = bench.call(tool, arguments).await.unwrap_err();
            assert!(text.contains(expected), "{tool}: {text}");
        }
        assert_eq!(fs::read(bench.root().join("f.txt")).unwrap(), content);
        let found = bench.call("search_files", json!({"path": ".", "regex": "."})).await.unwrap();
        assert_eq!(found, "(nothing was found)");
    }
    let nul = json!({"path": "g.txt", "content": "a\0", "line_count": 1});
    assert!(bench.call("write_to_file", nul).await.unwrap_err().contains("NUL character"));
    assert!(!bench.root().join("g.txt").exists());
}

async fn write(bench: &Bench, content: &str, count: Value) -> Result<String, String> {
    bench.call("write_to_file", json!({"path": "d/f.txt", "content": content, "line_count": count})).await
}

#[tokio::test]
async fn files_are_written_whole_with_their_directories() {
    let bench = Bench::new();
    assert_eq!(
        write(&bench, "a\nb\n", json!(2)).await.unwrap(),
        "File created successfully: d/f.txt (2 lines)"
    );
    bench.check_file("d/f.txt", "a\nb\n");
    assert_eq!(write(&bench, "c", json!(1)).await.unwrap(), "File written successfully: d/f.txt (1 lines)");
    bench.check_file("d/f.txt", "c");
    write(&bench, "", json!(0)).await.unwrap();
    bench.check_file("d/f.txt", "");
    assert_eq!(bench.names().len(), 2, "{:?}", bench.names());
}

#[tokio::test]
async fn the_number_of_lines_is_checked() {
    let bench = Bench::new();
    bench.put("d/f.txt", "old\n");
    for (content, count) in [("a\nb\n", 1), ("a\nb\n", 4), ("a\nb", 3), ("", 2), ("a\n", 0)] {
        let text = write(&bench, content, json!(count)).await.unwrap_err();
        let lines = content.lines().count();
        let expected = format!("line_count is {count}, but content has {lines} lines; nothing was written");
        assert!(text.starts_with(&expected), "{content:?}: {text}");
        bench.check_file("d/f.txt", "old\n");
    }
    // Both ways of counting an end after the last line.
    for (content, count) in [("a\nb\n", 2), ("a\nb\n", 3), ("a\nb", 2), ("", 0), ("", 1)] {
        write(&bench, content, json!(count)).await.unwrap();
        bench.check_file("d/f.txt", content);
    }
    for missing in ["path", "content", "line_count"] {
        let mut arguments = json!({"path": "x", "content": "", "line_count": 0});
        arguments.as_object_mut().unwrap().remove(missing);
        let text = bench.call("write_to_file", arguments).await.unwrap_err();
        assert!(text.starts_with(&format!("argument `{missing}` is missing")), "{text}");
    }
}

#[tokio::test]
async fn line_ends_and_permissions_stay_as_they_are() {
    let bench = Bench::new();
    bench.put("d/f.txt", "a\r\nb\r\n");
    let path = bench.root().join("d/f.txt");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).unwrap();
    write(&bench, "c\nd\ne\n", json!(3)).await.unwrap();
    bench.check_file("d/f.txt", "c\r\nd\r\ne\r\n");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o750);
    // No other file may get the ends of this one.
    bench.put("d/f.txt", "a\nb\r\n");
    write(&bench, "c\nd\n", json!(2)).await.unwrap();
    bench.check_file("d/f.txt", "c\nd\n");
}

/// A reader never sees half a file: what is written takes the place of what was there, and whoever has that open keeps it.
#[tokio::test]
async fn a_file_is_replaced_and_not_written_into() {
    use std::io::Read as _;
    let bench = Bench::new();
    bench.put("d/f.txt", "old");
    let mut open = fs::File::open(bench.root().join("d/f.txt")).unwrap();
    fs::hard_link(bench.root().join("d/f.txt"), bench.outside().join("hard")).unwrap();
    write(&bench, "new", json!(1)).await.unwrap();
    let mut seen = String::new();
    open.read_to_string(&mut seen).unwrap();
    assert_eq!((seen.as_str(), bench.get("d/f.txt").as_str()), ("old", "new"));
    assert_eq!(fs::read_to_string(bench.outside().join("hard")).unwrap(), "old");
}

#[tokio::test]
async fn what_cannot_be_written_leaves_everything_as_it_was() {
    let bench = Bench::with(super::workbench::Resolves::Kernel, |spec| spec.max_file_bytes = 100);
    bench.put("d/f.txt", "old\n");
    let names = bench.names();
    let long = "x".repeat(101);
    let text = write(&bench, &long, json!(1)).await.unwrap_err();
    assert!(
        text.contains("the text has 101 bytes, and 100 are the most here; nothing was written"),
        "{text}"
    );
    let growing = json!({"path": "d/f.txt", "operations": [{"search": "o", "replace": long}]});
    let text = bench.call("search_and_replace", growing).await.unwrap_err();
    assert!(text.contains("100"), "{text}");
    // The name fits, and no directory can be made beneath a file.
    let text = bench
        .call("write_to_file", json!({"path": "d/f.txt/g/h", "content": "", "line_count": 0}))
        .await
        .unwrap_err();
    assert!(text.contains("where a directory must be"), "{text}");
    bench.check_file("d/f.txt", "old\n");
    assert_eq!(bench.names(), names);
}

#[tokio::test]
async fn lists_are_sorted_and_bounded() {
    let bench = Bench::new();
    for path in ["b.txt", "a/z.txt", "a/b/c.txt", ".hidden", ".git/config", "ä.txt"] {
        bench.put(path, "x");
    }
    let list = async |path: &str, recursive: bool| {
        bench.call("list_files", json!({"path": path, "recursive": recursive})).await
    };
    assert_eq!(list(".", false).await.unwrap(), ".git/\n.hidden\na/\nb.txt\nä.txt");
    assert_eq!(list(".", true).await.unwrap(), ".git/\n.hidden\na/\na/b/\na/b/c.txt\na/z.txt\nb.txt\nä.txt");
    assert_eq!(list("a", false).await.unwrap(), "a/b/\na/z.txt");
    fs::create_dir(bench.root().join("empty")).unwrap();
    assert_eq!(list("empty/", true).await.unwrap(), "(the directory is empty)");
    assert_eq!(list("nowhere", true).await.unwrap_err(), "path `nowhere`: does not exist");

    let small = Bench::with(super::workbench::Resolves::Kernel, |spec| spec.max_results = 3);
    for path in ["deep/1", "deep/2", "deep/3", "top"] {
        small.put(path, "x");
    }
    // What is deepest is left out.
    assert_eq!(
        small.call("list_files", json!({"path": ".", "recursive": true})).await.unwrap(),
        "deep/\ndeep/1\ntop\n(not everything is listed: 3 entries are; list a directory further down)"
    );
}

#[tokio::test]
async fn searches_tell_path_line_and_text() {
    let bench = Bench::new();
    bench
        .put("b.rs", "fn one() {}\nlet x = 1;\nfn two() {}\r\n")
        .put("a/c.rs", "fn three() {}")
        .put("a/c.txt", "fn no");
    bench.put(".git/x.rs", "fn hidden");
    let search = async |arguments: Value| bench.call("search_files", arguments).await;
    let all = search(json!({"path": ".", "regex": r"^fn \w+", "file_pattern": "*.rs"})).await.unwrap();
    assert_eq!(all, "a/c.rs:1:fn three() {}\nb.rs:1:fn one() {}\nb.rs:3:fn two() {}");
    let in_path = search(json!({"path": "a", "regex": "fn", "file_pattern": null})).await.unwrap();
    assert_eq!(in_path, "a/c.rs:1:fn three() {}\na/c.txt:1:fn no");
    let in_file = search(json!({"path": "b.rs", "regex": "ONE|(?i)TWO"})).await.unwrap();
    assert_eq!(in_file, "b.rs:3:fn two() {}");
    assert_eq!(search(json!({"path": ".", "regex": "nothing$"})).await.unwrap(), "(nothing was found)");
    assert!(search(json!({"path": ".", "regex": "("})).await.unwrap_err().contains("cannot be used"));
    assert!(
        search(json!({"path": ".", "regex": "a{1000}{1000}"})).await.unwrap_err().contains("cannot be used")
    );
    assert!(
        search(json!({"path": ".", "regex": "a", "file_pattern": "{a"}))
            .await
            .unwrap_err()
            .contains("`{` has no `}`")
    );
    assert_eq!(search(json!({"path": "x", "regex": "a"})).await.unwrap_err(), "path `x`: does not exist");
}

#[tokio::test]
async fn searches_are_bounded() {
    let bench = Bench::with(super::workbench::Resolves::Kernel, |spec| {
        spec.max_results = 2;
        spec.max_file_bytes = 2_000;
    });
    bench.put("a.txt", "x\nx\nx\n").put("big.txt", "x\n".repeat(2_000));
    let many = bench.call("search_files", json!({"path": ".", "regex": "x"})).await.unwrap();
    assert_eq!(
        many,
        "a.txt:1:x\na.txt:2:x\n(not everything was searched; narrow the path, the expression or file_pattern)"
    );
    let big =
        bench.call("search_files", json!({"path": ".", "regex": "x", "file_pattern": "big*"})).await.unwrap();
    assert_eq!(big, "(nothing was found)\n(1 files of more than 2000 bytes were not searched)");
    bench.put("a.txt", "y".repeat(900));
    let long = bench.call("search_files", json!({"path": "a.txt", "regex": "y"})).await.unwrap();
    assert_eq!(long, format!("a.txt:1:{}…", "y".repeat(500)));
}

/// Nested repetitions make backtracking engines stand still.
#[tokio::test]
async fn no_expression_takes_for_ever() {
    let bench = Bench::new();
    bench.put("f.txt", "a".repeat(100_000));
    let found = bench.call("search_files", json!({"path": ".", "regex": "(a+)+$b"})).await.unwrap();
    assert_eq!(found, "(nothing was found)");
}

#[tokio::test]
async fn a_workspace_that_is_only_read_has_no_tools_that_write() {
    let bench = Bench::with(super::workbench::Resolves::Kernel, |spec| spec.read_only = true);
    bench.put("f.txt", "old\n");
    let listed = bench.ask("tools/list", &json!({})).await;
    let names: Vec<&str> =
        listed["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["read_file", "list_files", "search_files", "ask_followup_question"]);
    for tool in ["write_to_file", "apply_diff", "insert_content", "search_and_replace"] {
        let arguments = json!({"path": "f.txt", "content": "new", "line_count": 1});
        let text = bench.call(tool, arguments).await.unwrap_err();
        assert_eq!(text, format!("the workspace is read-only, so `{tool}` cannot be used"));
    }
    assert_eq!(bench.call("read_file", json!({"path": "f.txt"})).await.unwrap(), "old\n");
    bench.check_file("f.txt", "old\n");
}

#[tokio::test]
async fn a_missing_directory_is_told_when_it_is_opened() {
    let spec = gateway_config::WorkspaceSpec::new("/nonexistent/workspace");
    let error = gateway_builtin::WorkspaceServer::open(&spec).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
}
