//! Somebody swaps a directory for a link that leads out, again and again, while calls are at work.

use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::{Value, json};

use super::workbench::{BOTH, Bench, CANARY};

/// Rounds of calls; each is refused or done, whatever stands there at that moment. `scripts/soak` asks for many more.
fn rounds() -> usize {
    std::env::var("GATEWAY_TEST_RACES").map_or(150, |text| text.parse().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn swapping_a_directory_for_a_link_leads_nowhere() {
    for resolves in BOTH {
        let bench = Bench::with(resolves, |_| {});
        bench.put("dir/canary.txt", "inner\n").put("dir/sub/canary.txt", "inner\n");
        let beside = bench.beside();
        let (root, outside) = (bench.root(), bench.outside());
        let (stop, swaps) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let swapping = {
            let (stop, swaps) = (Arc::clone(&stop), Arc::clone(&swaps));
            std::thread::spawn(move || {
                let (dir, link) = (root.join("dir"), root.join("link"));
                symlink(&outside, &link).unwrap();
                while !stop.load(Ordering::Relaxed) {
                    renameat_with(CWD, &link, CWD, &dir, RenameFlags::EXCHANGE).unwrap();
                    swaps.fetch_add(1, Ordering::Relaxed);
                }
            })
        };
        let mut outcomes = [0_usize; 2];
        let mut round = 0;
        while round < rounds() || swaps.load(Ordering::Relaxed) < 100 {
            for (tool, arguments) in calls(round) {
                let answer = bench.call(tool, arguments).await;
                outcomes[usize::from(answer.is_err())] += 1;
                let text = answer.unwrap_or_else(|text| text);
                assert!(!text.contains(CANARY), "{resolves:?} {tool}: {text}");
            }
            round += 1;
        }
        stop.store(true, Ordering::Relaxed);
        swapping.join().unwrap();
        assert_eq!(bench.beside(), beside, "{resolves:?}: something outside was changed");
        let leftovers: Vec<String> =
            bench.names().into_iter().filter(|name| name.contains(".gateway-")).collect();
        assert_eq!(leftovers, Vec::<String>::new(), "{resolves:?}");
        // Otherwise nothing was raced for.
        assert!(outcomes.iter().all(|count| *count > 0), "{resolves:?}: {outcomes:?}");
    }
}

fn calls(round: usize) -> Vec<(&'static str, Value)> {
    let content = format!("round {round}\n");
    vec![
        ("read_file", json!({"path": "dir/canary.txt"})),
        ("write_to_file", json!({"path": "dir/canary.txt", "content": content, "line_count": 1})),
        ("write_to_file", json!({"path": "dir/made/new.txt", "content": content, "line_count": 1})),
        ("search_files", json!({"path": ".", "regex": "."})),
        ("list_files", json!({"path": "dir", "recursive": true})),
        (
            "insert_content",
            json!({"path": "dir/sub/canary.txt", "operations": [{"start_line": 1, "content": "evil"}]}),
        ),
        (
            "search_and_replace",
            json!({"path": "dir/sub/canary.txt", "operations": [{"search": "evil\n", "replace": ""}]}),
        ),
    ]
}
