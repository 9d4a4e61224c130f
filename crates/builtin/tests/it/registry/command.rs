//! Commands: what reaches the program, and what becomes of it.

use std::collections::BTreeMap;
use std::time::Duration;

use gateway_builtin::{Handler, RegisteredTool, Registry};
use gateway_config::{CommandHandler, CommandInput};
use serde_json::{Value, json};

use super::{run, text};

fn groups(args: &[&[&str]]) -> Vec<Vec<String>> {
    args.iter().map(|group| group.iter().map(|text| (*text).to_owned()).collect()).collect()
}

fn registry(handler: CommandHandler) -> Registry {
    let registry = Registry::new();
    let tool = RegisteredTool::new("x", &json!({}), Handler::Command(handler)).unwrap();
    registry.register(tool.with_timeout(Duration::from_secs(20))).unwrap();
    registry
}

/// What `printf '[%s]'` shows of the arguments that it is given.
async fn shown(args: &[&[&str]], value: &Value) -> Result<Value, String> {
    let mut template = groups(&[&["[%s]"]]);
    template.extend(groups(args));
    run(&registry(CommandHandler::new("printf", &template).unwrap()), "x", value).await
}

#[tokio::test]
async fn a_placeholder_is_one_argument_whatever_its_value() {
    let values = [
        "plain",
        "two words",
        "; rm -rf /",
        "$(id) `id` $HOME",
        "a\nb",
        "'quoted' \"twice\"",
        "* ? [a]",
        "{other}",
        "%s%n",
        "",
        "ü",
    ];
    for value in values {
        let found = shown(&[&["{v}"], &["end"]], &json!({"v": value, "other": "no"})).await;
        assert_eq!(found, Ok(text(&format!("[{value}][end]"))), "{value}");
        let found = shown(&[&["--name={v}!"]], &json!({"v": value})).await;
        assert_eq!(found, Ok(text(&format!("[--name={value}!]"))), "{value}");
    }
}

#[tokio::test]
async fn a_value_never_becomes_an_option() {
    let refused =
        "Error executing tool 'x': `v` begins with `-` and would be taken for an option of `printf`";
    for value in ["-n", "--exec=sh", "-"] {
        assert_eq!(shown(&[&["{v}"]], &json!({"v": value})).await, Err(refused.to_owned()), "{value}");
        let joined = shown(&[&["{v}{w}"]], &json!({"v": "", "w": value})).await;
        assert_eq!(joined, Err(refused.to_owned()), "{value}");
        let found = shown(&[&["--"], &["{v}"]], &json!({"v": value})).await;
        assert_eq!(found, Ok(text(&format!("[--][{value}]"))), "after `--` nothing is an option");
    }
    assert_eq!(shown(&[&["{v}"]], &json!({"v": -5})).await, Err(refused.to_owned()));
    let found = shown(&[&["{v}"], &["{w}"]], &json!({"v": "x", "w": "--"})).await;
    assert!(found.unwrap_err().contains("`w` begins with"), "a value is not the end of options");
}

#[tokio::test]
async fn what_has_no_value_is_left_out_with_its_group() {
    let args: &[&[&str]] = &[&["a"], &["--by", "{who}"], &["{n}"], &["{{b}}"]];
    assert_eq!(shown(args, &json!({})).await, Ok(text("[a][{b}]")));
    assert_eq!(shown(args, &json!({"who": null, "n": 1.5})).await, Ok(text("[a][1.5][{b}]")));
    let all = json!({"who": "me", "n": {"k": [true]}});
    assert_eq!(shown(args, &all).await, Ok(text(r#"[a][--by][me][{"k":[true]}][{b}]"#)));
}

#[test]
fn templates_are_checked() {
    let error = |arg: &str| CommandHandler::new("x", &groups(&[&[arg]])).map(drop).unwrap_err();
    assert!(error("{a").contains("without `}`"), "{}", error("{a"));
    assert!(error("a}").contains("without `{`"));
    assert!(error("{}").contains("without a name"));
    assert_eq!(error("-{v}"), "`-{v}` lets `v` choose the option; write the option out");
    assert_eq!(error("--{v}=1"), "`--{v}=1` lets `v` choose the option; write the option out");
    assert!(CommandHandler::new(" ", &[]).is_err());
}

#[tokio::test]
async fn arguments_reach_the_standard_input_as_they_came() {
    let registry = registry(CommandHandler::new("cat", &[]).unwrap());
    let raw = gateway_protocol::RawJson::parse(r#"{"z":1,"n":12345678901234567890123}"#.to_owned()).unwrap();
    let result = registry.execute("x", &raw).await.unwrap();
    assert!(
        result.as_str().contains(r#""structuredContent":{"z":1,"n":12345678901234567890123}"#),
        "{result}"
    );
}

#[tokio::test]
async fn the_standard_input_is_empty_where_placeholders_take_the_values() {
    let script = groups(&[&["-c", "cat; printf '%s' \"$1\"", "sh"], &["{v}"]]);
    let handler = CommandHandler::new("sh", &script).unwrap();
    assert_eq!(run(&registry(handler.clone()), "x", &json!({"v": "a"})).await, Ok(text("a")));
    let mut both = handler;
    both.stdin = CommandInput::Json;
    assert_eq!(run(&registry(both), "x", &json!({"v": "a"})).await, Ok(text(r#"{"v":"a"}a"#)));
}

#[tokio::test]
async fn how_a_program_ends_is_reported() {
    let shell = |script: &str| CommandHandler::new("sh", &groups(&[&["-c", script]])).unwrap();
    let outcome = |handler: CommandHandler| async move { run(&registry(handler), "x", &json!({})).await };
    assert_eq!(
        outcome(shell("echo out; echo why >&2; exit 3")).await,
        Err("Error executing tool 'x': `sh`: it exited with status 3: why".to_owned())
    );
    assert_eq!(outcome(shell("exit 0")).await, Ok(json!({"content": []})));
    assert_eq!(
        outcome(shell(r#"echo '{{"content":[{{"type":"text","text":"no"}}],"isError":true}}'"#)).await,
        Ok(json!({"content": [{"type": "text", "text": "no"}], "isError": true}))
    );
    let mut endless = shell("yes");
    endless.max_bytes = 1_000;
    assert_eq!(
        outcome(endless).await,
        Err("Error executing tool 'x': `sh` wrote more than 1000 bytes".to_owned())
    );
    assert!(
        outcome(CommandHandler::new("no-such-program-anywhere", &[]).unwrap())
            .await
            .unwrap_err()
            .contains("not found on PATH")
    );
    let env = BTreeMap::from([("GREETING".to_owned(), "hello".to_owned())]);
    let mut placed = shell("printf '%s %s' \"$GREETING\" \"$PWD\"");
    (placed.env, placed.cwd) = (env, Some("/".into()));
    assert_eq!(outcome(placed).await, Ok(text("hello /")));
    let env = BTreeMap::from([("API_TOKEN".to_owned(), "toolsecret123".to_owned())]);
    let mut failing = shell("echo \"token=$API_TOKEN\" >&2; exit 3");
    failing.env = env;
    assert_eq!(
        outcome(failing).await,
        Err("Error executing tool 'x': `sh`: it exited with status 3: token=***".to_owned())
    );
}

fn lives(process: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
}

async fn gone(process: i32) {
    // The kernel takes a moment; whoever waits too long is stopped by the test runner.
    while lives(process) {
        gateway_testkit::pause().await;
    }
}

#[tokio::test]
async fn nothing_is_left_running() {
    // A grandchild that holds the output open does not hold the call.
    let handler = CommandHandler::new("sh", &groups(&[&["-c", "sleep 1000 & echo $!"]])).unwrap();
    let result = run(&registry(handler), "x", &json!({})).await.unwrap();
    let process: i32 = result["content"][0]["text"].as_str().unwrap().trim().parse().unwrap();
    gone(process).await;
    // Neither does a call that is given up.
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pid");
    let script = format!("sleep 1000 & echo $! > {0}.tmp; mv {0}.tmp {0}; wait", file.display());
    let handler = CommandHandler::new("sh", &groups(&[&["-c", &script]])).unwrap();
    let registry = registry(handler);
    let started = async {
        loop {
            if let Ok(text) = std::fs::read_to_string(&file) {
                return text.trim().parse::<i32>().unwrap();
            }
            gateway_testkit::pause().await;
        }
    };
    let nothing = json!({});
    let process = tokio::select! {
        outcome = run(&registry, "x", &nothing) => panic!("{outcome:?}"),
        process = started => process,
    };
    gone(process).await;
}

/// A program that starts another one, which leaves its group and forgets its environment, so that it is not found.
#[tokio::test]
async fn streams_that_somebody_holds_open_do_not_hold_the_call() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = |name: &str| {
        let path = folder.path().join(name);
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        path.display().to_string()
    };
    let (ready, gate) = (pipe("ready"), pipe("gate"));
    let hidden = format!("echo > {ready}; cat {gate}");
    let script = format!("setsid env -i sh -c '{hidden}' & read line < {ready}; echo said");
    let handler = CommandHandler::new("sh", &groups(&[&["-c", &script]])).unwrap();
    let outcome = run(&registry(handler), "x", &json!({})).await;
    // Lets it end: it waits for somebody who writes, and there is nobody more to read if it is gone already.
    let opened = std::fs::OpenOptions::new().read(true).write(true).open(&gate).unwrap();
    drop(opened);
    assert_eq!(outcome, Ok(text("said\n")));
}
