//! Diffs, insertions and replacements: exact, all or nothing, line ends kept.

use serde_json::{Value, json};

use super::workbench::{Bench, Resolves};

/// Calls a tool on a file with this text, and compares what the file has then.
async fn check(tool: &str, before: &str, what: Value, after: &str) {
    let (text, answer) = edited(tool, before, what.clone()).await;
    answer.unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(text, after, "{what}");
}

/// The same for what is refused: the file stays, and the text says why.
async fn refuse(tool: &str, before: &str, what: Value, expected: &str) {
    let (text, answer) = edited(tool, before, what.clone()).await;
    assert_eq!(text, before, "{what}");
    let told = answer.expect_err(&what.to_string());
    assert!(told.contains(expected), "{what}: {told}");
}

async fn edited(tool: &str, before: &str, what: Value) -> (String, Result<String, String>) {
    let bench = Bench::new();
    bench.put("f.txt", before);
    let member = if tool == "apply_diff" { "diff" } else { "operations" };
    let answer = bench.call(tool, json!({"path": "f.txt", member: what})).await;
    assert_eq!(bench.names().len(), 1, "{:?}", bench.names());
    (bench.get("f.txt"), answer)
}

fn block(old: &str, new: &str) -> String {
    format!("<<<<<<< SEARCH\n{old}=======\n{new}>>>>>>> REPLACE\n")
}

#[tokio::test]
async fn blocks_replace_exact_lines() {
    let diff = "apply_diff";
    let text = "one\n  two\nthree\ntwo\n";
    check(diff, text, json!(block("  two\n", "  2\n  and\n")), "one\n  2\n  and\nthree\ntwo\n").await;
    check(diff, text, json!(block("three\ntwo\n", "end\n")), "one\n  two\nend\n").await;
    check(diff, text, json!(block("three\n", "")), "one\n  two\ntwo\n").await;
    let two = block("three\n", "3\n") + "\n" + &block("one\n", "1\n");
    check(diff, text, json!(two), "1\n  two\n3\ntwo\n").await;
    let fenced = format!("```diff\n{}```", block("one\n", "1\n"));
    check(diff, text, json!(fenced), "1\n  two\nthree\ntwo\n").await;
    let numbered = block(":start_line:3\n-------\nx\n", "y\n");
    check(diff, "x\na\nx\n", json!(numbered), "x\na\ny\n").await;
    // The number is off, but there is only one such place.
    let off = block(":start_line:9\n:end_line:9\n-------\na\n", "b\n");
    check(diff, "x\na\nx\n", json!(off), "x\nb\nx\n").await;
    let inserted = block(":start_line:2\n-------\n", "new\n");
    check(diff, "a\nb\n", json!(inserted), "a\nnew\nb\n").await;
    check(diff, "", json!(block("", "first\n")), "first\n").await;
    let escaped = block("\\=======\n", "\\<<<<<<< SEARCH\n");
    check(diff, "a\n=======\nb\n", json!(escaped), "a\n<<<<<<< SEARCH\nb\n").await;
}

#[tokio::test]
async fn line_ends_are_kept_by_diffs() {
    let diff = "apply_diff";
    check(diff, "a\r\nb\r\nc\r\n", json!(block("b\n", "x\ny\n")), "a\r\nx\r\ny\r\nc\r\n").await;
    check(diff, "a\r\nb\r\n", json!(block("b\n", "x\n").replace('\n', "\r\n")), "a\r\nx\r\n").await;
    check(diff, "a\nb\n", json!(block("b\n", "x\n").replace('\n', "\r\n")), "a\nx\n").await;
    check(diff, "a\nb", json!(block("b\n", "x\n")), "a\nx").await;
    check(diff, "a\r\nb\nc\r\n", json!(block("c\n", "x\ny\n")), "a\r\nb\nx\r\ny\r\n").await;
    check(diff, "a\nb\n", json!(block("a\nb\n", "")), "").await;
    check(diff, "a\n\nb\n", json!(block("\n", "x\n")), "a\nx\nb\n").await;
}

#[tokio::test]
async fn a_block_that_does_not_fit_is_told_with_the_nearest_place() {
    let diff = "apply_diff";
    let text = "fn main() {\n    one();\n    two();\n}\n";
    refuse(
        diff,
        text,
        json!(block("    one();\n    too();\n", "x\n")),
        "path `f.txt`: block 1 is not in the file. The nearest place begins at line 2; there line 3 is `    two();`, not \
         `    too();`; nothing was changed",
    )
    .await;
    // Indentation counts.
    refuse(diff, text, json!(block("one();\n", "x\n")), "there line 2 is `    one();`, not `one();`").await;
    refuse(diff, text, json!(block("other\n", "x\n")), "block 1 is not in the file, and nothing like it")
        .await;
    refuse(
        diff,
        text,
        json!(block("}\nmore\n", "x\n")),
        "begins at line 4; there line 5 is nothing, not `more`",
    )
    .await;
    refuse(diff, "x\na\nx\nx\n", json!(block("x\n", "y\n")), "block 1 fits at lines 1, 3 and more").await;
    let half = block("    one();\n", "1\n") + &block("nowhere\n", "2\n");
    refuse(diff, text, json!(half), "block 2 is not in the file").await;
    let same = block("    one();\n    two();\n", "1\n") + &block("    two();\n", "2\n");
    refuse(diff, text, json!(same), "block 1 and block 2 are about the same lines").await;
    refuse(diff, text, json!(block("}\n", "}\n")), "the diff changes nothing").await;
}

#[tokio::test]
async fn diffs_of_no_known_form_are_refused() {
    let diff = "apply_diff";
    for (text, expected) in [
        ("", "no form that is known"),
        ("replace a by b", "no form that is known"),
        ("<<<<<<< SEARCH\na\n", "the last block has no `>>>>>>> REPLACE`"),
        ("<<<<<<< SEARCH\na\n>>>>>>> REPLACE\n", "line 3 of the diff: expected `=======`"),
        (
            "<<<<<<< SEARCH\na\n=======\nb\n=======\nc\n>>>>>>> REPLACE\n",
            "line 5 of the diff: there is a second `=======`",
        ),
        ("<<<<<<< SEARCH\na\n<<<<<<< SEARCH\n", "line 3 of the diff: a block begins inside another"),
        (
            "<<<<<<< SEARCH\na\n=======\n>>>>>>> REPLACE\nstray\n",
            "line 5 of the diff: expected `<<<<<<< SEARCH`",
        ),
        ("<<<<<<< SEARCH\n:start_line:x\n-------\na\n=======\n>>>>>>> REPLACE\n", "expected a number"),
        ("<<<<<<< SEARCH\n=======\nnew\n>>>>>>> REPLACE\n", "no `:start_line:` to insert at"),
        ("@@ -1 +1 @@\n-a\nstray\n", "line 3 of the diff: expected a line that begins with"),
        ("--- a\n+++ a\n@@ -1 +1 @@\n-a\n+b\n--- c\n+++ c\n@@ -1 +1 @@\n-a\n+b\n", "a second file"),
        ("@@ -1 +1 @@\n a\n", "hunk 1 changes nothing"),
        ("@@ -9,0 +9 @@\n+b\n", "inserts at line 10, but the file has 1 lines"),
    ] {
        refuse(diff, "a\n", json!(text), expected).await;
    }
}

#[tokio::test]
async fn unified_diffs_are_applied() {
    let diff = "apply_diff";
    let text = "one\ntwo\n\nfour\nfive\n";
    let hunk = "--- a/f.txt\n+++ b/f.txt\n@@ -1,4 +1,4 @@\n one\n-two\n+2\n \n four\n";
    check(diff, text, json!(hunk), "one\n2\n\nfour\nfive\n").await;
    // The space of an empty line is often gone, and numbers are often wrong or absent.
    check(diff, text, json!("@@ -7,4 +7,4 @@\n one\n-two\n+2\n\n four\n"), "one\n2\n\nfour\nfive\n").await;
    check(diff, text, json!("@@ ... @@\n-five\n+5\n"), "one\ntwo\n\nfour\n5\n").await;
    let two = "@@ -1,2 +1,1 @@\n-one\n two\n@@ -5,1 +4,2 @@\n five\n+six\n";
    check(diff, text, json!(two), "two\n\nfour\nfive\nsix\n").await;
    check(diff, text, json!("@@ -2,0 +3,1 @@\n+between\n"), "one\ntwo\nbetween\n\nfour\nfive\n").await;
    check(diff, "", json!("@@ -0,0 +1,2 @@\n+a\n+b\n"), "a\nb\n").await;
    check(
        diff,
        "a\r\nb\r\n",
        json!("@@ -1,2 +1,2 @@\n a\n-b\n+c\n\\ No newline at end of file\n"),
        "a\r\nc\r\n",
    )
    .await;
    check(diff, "-- x\ny\n", json!("@@ -1,2 +1,1 @@\n--- x\n y\n"), "y\n").await;
    refuse(diff, text, json!("@@ -1 +1 @@\n-six\n+6\n"), "hunk 1 is not in the file").await;
    refuse(diff, "a\nb\na\n", json!("@@ @@\n-a\n+b\n"), "hunk 1 fits at lines 1, 3").await;
    check(diff, "a\nb\na\n", json!("@@ -3 +3 @@\n-a\n+c\n"), "a\nb\nc\n").await;
}

#[tokio::test]
async fn lines_are_inserted_before_others() {
    let insert = "insert_content";
    let one = |line: u64, content: &str| json!([{"start_line": line, "content": content}]);
    check(insert, "a\nb\n", one(1, "x"), "x\na\nb\n").await;
    check(insert, "a\nb\n", one(2, "x\ny\n"), "a\nx\ny\nb\n").await;
    check(insert, "a\nb\n", one(3, "x"), "a\nb\nx\n").await;
    check(insert, "a\nb\n", one(0, "x"), "a\nb\nx\n").await;
    check(insert, "a\nb", one(0, "x\n"), "a\nb\nx").await;
    check(insert, "", one(1, "x"), "x\n").await;
    check(insert, "a\r\nb\r\n", one(2, "x\ny"), "a\r\nx\r\ny\r\nb\r\n").await;
    check(insert, "a\n", one(1, "\n"), "\na\n").await;
    // Numbers are those of the file as it was, and the order in one place is that of the list.
    let several = json!([
        {"start_line": 2, "content": "x"}, {"start_line": 1, "content": "first"}, {"start_line": 2, "content": "y"}
    ]);
    check(insert, "a\nb\n", several, "first\na\nx\ny\nb\n").await;
    check(insert, "a\n", json!(r#"[{"start_line": 1, "content": "as text"}]"#), "as text\na\n").await;
    refuse(
        insert,
        "a\n",
        one(3, "x"),
        "operation 1: there is no line 3: the file has 1 lines; 0 means the end",
    )
    .await;
    refuse(insert, "a\n", one(1, ""), "`content` is empty").await;
    refuse(insert, "a\n", json!([]), "must have 1 to 1000 entries, not 0").await;
    refuse(insert, "a\n", json!("[{"), "or JSON text of it").await;
    refuse(insert, "a\n", json!([1]), "must be a list of objects").await;
    refuse(
        insert,
        "a\n",
        json!([{"start_line": 1, "content": "x"}, {"start_line": 1}]),
        "operation 2: argument `content` is missing",
    )
    .await;
}

#[tokio::test]
async fn texts_are_replaced() {
    let replace = "search_and_replace";
    let one = |search: &str, replaced: &str| json!([{"search": search, "replace": replaced}]);
    check(replace, "a.b a.b axb\n", one("a.b", "$1"), "$1 $1 axb\n").await;
    check(replace, "a\nb\nc\n", one("a\nb", "x"), "x\nc\n").await;
    check(replace, "a\r\nb\r\nc\r\n", one("a\nb", "x\ny\nz"), "x\r\ny\r\nz\r\nc\r\n").await;
    check(replace, "a\r\nb\r\n", one("a\r\nb", "x"), "x\r\n").await;
    check(replace, "a\r\nb\n", one("b", "x"), "a\r\nx\n").await;
    check(replace, "a\r\nb\n", one("\nb", ""), "a\r\n").await;
    check(replace, "a\nb", one("b", ""), "a\n").await;
    let regex =
        |search: &str, replaced: &str| json!([{"search": search, "replace": replaced, "use_regex": true}]);
    check(replace, "let a = 1;\nlet b = 2;\n", regex(r"let (\w) = (\d);", "$1: $2"), "a: 1\nb: 2\n").await;
    check(replace, "a\na\n", regex("^a$", "b"), "b\nb\n").await;
    let flagged = json!([{"search": "A.b", "replace": "x", "use_regex": true, "regex_flags": "gsi"}]);
    check(replace, "a\nb\n", flagged, "x\n").await;
    let ignoring = json!([{"search": "ABC", "replace": "x", "ignore_case": true}]);
    check(replace, "abc Abc\n", ignoring, "x x\n").await;
    let ranged = json!([{"search": "a", "replace": "b", "start_line": 2, "end_line": 3}]);
    check(replace, "a\na\na\na\n", ranged, "a\nb\nb\na\n").await;
    let removed = json!([{"search": "a", "replace": "", "start_line": 2, "end_line": 2}]);
    check(replace, "a\na\nb\n", removed, "a\nb\n").await;
    let steps = json!([{"search": "a", "replace": "b"}, {"search": "b", "replace": "c"}]);
    check(replace, "a\nb\n", steps, "c\nc\n").await;
    check(replace, "a\n", json!(r#"{"search": "a", "replace": "b"}"#), "b\n").await;
}

/// A file whose lines end in two ways: texts are found across both, and new lines end as the line that they begin in.
#[tokio::test]
async fn mixed_line_ends_are_kept_by_replacements() {
    let replace = "search_and_replace";
    let one = |search: &str, replaced: &str| json!([{"search": search, "replace": replaced}]);
    let mixed = "a\r\nb\nc\r\nd\n";
    check(replace, mixed, one("a\nb", "x"), "x\nc\r\nd\n").await;
    check(replace, mixed, one("b\nc\n", "x\n"), "a\r\nx\nd\n").await;
    check(replace, mixed, one("a\r\nb\r\n", "x\r\ny\r\n"), "x\r\ny\r\nc\r\nd\n").await;
    check(replace, mixed, one("c", "x\ny"), "a\r\nb\nx\r\ny\r\nd\n").await;
    check(replace, mixed, one("b", "x\r\ny"), "a\r\nx\ny\nc\r\nd\n").await;
    check(replace, mixed, one("\nb", "\nx\ny"), "a\r\nx\r\ny\nc\r\nd\n").await;
    let regex = json!([{"search": "([ac])", "replace": "$1\n$1", "use_regex": true}]);
    check(replace, mixed, regex, "a\r\na\r\nb\nc\r\nc\r\nd\n").await;
    let ranged = json!([{"search": "c", "replace": "x\ny", "start_line": 3, "end_line": 3}]);
    check(replace, mixed, ranged, "a\r\nb\nx\r\ny\r\nd\n").await;
}

#[tokio::test]
async fn replacements_are_bounded_in_number_and_work() {
    let replace = "search_and_replace";
    let times = |count: usize| json!(vec![json!({"search": "a", "replace": "a"}); count]);
    refuse(replace, "a\n", times(101), "must have 1 to 100 entries, not 101").await;
    check(replace, "a\n", times(100), "a\n").await;
    // A file of the longest length is read 16 times, and no more.
    let bench = Bench::with(Resolves::Kernel, |spec| spec.max_file_bytes = 1_000);
    bench.put("f.txt", "a".repeat(1_000));
    let call = async |count| bench.call(replace, json!({"path": "f.txt", "operations": times(count)})).await;
    assert_eq!(call(16).await.unwrap(), "Replaced in f.txt: 16000 places");
    let refused = call(17).await.unwrap_err();
    assert!(
        refused.contains("operation 17: there are too many operations for a file of this size"),
        "{refused}"
    );
}

#[tokio::test]
async fn replacements_that_cannot_be_made_change_nothing() {
    let replace = "search_and_replace";
    let half = json!([{"search": "a", "replace": "b"}, {"search": "z", "replace": "x"}]);
    refuse(replace, "a\n", half, "path `f.txt`, operation 2: `z` was not found; nothing was changed").await;
    let wrong = |member: &str, value: Value| json!([{"search": "a", "replace": "b", member: value}]);
    refuse(replace, "a\n", wrong("start_line", json!(5)), "there is no line 5: the file has 1 lines").await;
    refuse(replace, "a\n", wrong("regex_flags", json!("y")), "`regex_flags` has `y`").await;
    refuse(replace, "a\n", wrong("use_regex", json!("yes")), "must be true or false").await;
    refuse(replace, "a\n", wrong("with", json!(1)), "there is no argument `with`").await;
    refuse(replace, "a\n", json!([{"search": "", "replace": "b"}]), "`search` is empty").await;
    refuse(replace, "a\n", json!([{"search": "(", "replace": "b", "use_regex": true}]), "cannot be used")
        .await;
}

/// A short expression and a short replacement must not fill the memory.
#[tokio::test]
async fn texts_that_grow_too_long_are_stopped() {
    let replace = "search_and_replace";
    let text = "a".repeat(1_000_000);
    let groups = json!([{"search": "a+", "replace": "$0".repeat(10_000), "use_regex": true}]);
    refuse(replace, &text, groups, "the text would have more than 1048576 bytes").await;
    let many = json!([{"search": "a", "replace": "b".repeat(100_000)}]);
    refuse(replace, &text, many, "the text would have more than 1048576 bytes").await;
}

#[tokio::test]
async fn line_numbers_beyond_all_files_are_refused() {
    let most = usize::MAX;
    for diff in [
        format!("@@ -{most},0 +1 @@\n+x\n"),
        format!("@@ -{most},1 +1 @@\n-y\n+x\n"),
        block(&format!(":start_line:{most}\n-------\ny\n"), "x\n"),
        block(&format!(":start_line:{most}\n-------\n"), "x\n"),
    ] {
        let bench = Bench::new();
        bench.put("f.txt", "a\n");
        let refused = bench.call("apply_diff", json!({"path": "f.txt", "diff": diff})).await.unwrap_err();
        assert!(!refused.contains("panicked"), "{diff}: {refused}");
        bench.check_file("f.txt", "a\n");
    }
}
