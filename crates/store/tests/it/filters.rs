use gateway_store::{CallRecord, CallStatus, Filter, LogOwner, Options, Outcome};

use crate::{filter, ids, places::Place, record, write};

/// Ten calls; the number is also the id.
fn calls() -> Vec<CallRecord> {
    let call = |second,
                server: &str,
                tool: &str,
                provider: Option<&str>,
                caller: Option<&str>,
                error: Option<&str>| {
        let mut call = record(second);
        call.server = server.into();
        call.tool = tool.into();
        call.provider = provider.map(Into::into);
        call.caller = caller.map(Into::into);
        if let Some(message) = error {
            call.outcome = Outcome::error(message, "TIMEOUT");
        }
        call
    };
    vec![
        call(1, "demo", "add", Some("openai"), Some("alice"), None),
        call(2, "demo", "add", Some("gemini"), Some("bob"), None),
        call(3, "demo", "multiply", Some("openai"), None, Some("too 100% slow")),
        call(4, "files", "read_file", None, Some("alice"), None),
        call(5, "files", "read_dir", None, Some("alice"), Some("no such file")),
        call(6, "files", "write_file", Some("openai"), Some("team/bob"), None),
        call(7, "demo-2", "add", Some("gemini"), None, None),
        // Started before the others and took longer, so it was written later.
        call(0, "demo", "add[1]", None, None, None),
        call(8, "demo", "get?x", None, None, None),
        call(9, "demo", "add", Some("openai"), Some("alice"), Some("again")),
    ]
}

fn time(second: i64) -> jiff::Timestamp {
    record(second).timestamp
}

pub(crate) fn each_filter_finds_its_entries(place: &Place) {
    let table: Vec<(&str, Filter, Vec<i64>)> = vec![
        ("all", Filter::default(), (1..=10).collect()),
        ("server", filter(|f| f.server = Some("demo".into())), vec![1, 2, 3, 8, 9, 10]),
        ("server pattern", filter(|f| f.server = Some("demo*".into())), vec![1, 2, 3, 7, 8, 9, 10]),
        ("unknown server", filter(|f| f.server = Some("nowhere".into())), vec![]),
        ("tool", filter(|f| f.tool = Some("add".into())), vec![1, 2, 7, 10]),
        ("tool pattern", filter(|f| f.tool = Some("read_*".into())), vec![4, 5]),
        ("pattern in the middle", filter(|f| f.tool = Some("*_f*e".into())), vec![4, 6]),
        ("case matters", filter(|f| f.tool = Some("ADD".into())), vec![]),
        ("one character", filter(|f| f.tool = Some("read_f?le".into())), vec![4]),
        ("bracket is plain", filter(|f| f.tool = Some("add[*".into())), vec![8]),
        ("question mark takes itself too", filter(|f| f.tool = Some("*?x".into())), vec![9]),
        ("provider", filter(|f| f.provider = Some("gemini".into())), vec![2, 7]),
        ("caller", filter(|f| f.caller = Some("alice".into())), vec![1, 4, 5, 10]),
        ("caller pattern", filter(|f| f.caller = Some("*bob".into())), vec![2, 6]),
        ("owner", filter(|f| f.owner = Some(LogOwner::Named("alice".into()))), vec![1, 4, 5, 10]),
        ("an owner is no pattern", filter(|f| f.owner = Some(LogOwner::Named("*".into()))), vec![]),
        ("nobody's", filter(|f| f.owner = Some(LogOwner::Anonymous)), vec![3, 7, 8, 9]),
        (
            "an owner and a pattern",
            filter(|f| {
                (f.owner, f.caller) = (Some(LogOwner::Named("bob".into())), Some("*bob".into()));
            }),
            vec![2],
        ),
        (
            "an owner and another caller",
            filter(|f| {
                (f.owner, f.caller) = (Some(LogOwner::Named("bob".into())), Some("alice".into()));
            }),
            vec![],
        ),
        ("correlation id", filter(|f| f.correlation_id = Some("c-5".into())), vec![5]),
        ("errors", filter(|f| f.status = Some(CallStatus::Error)), vec![3, 5, 10]),
        ("results", filter(|f| f.status = Some(CallStatus::Ok)), vec![1, 2, 4, 6, 7, 8, 9]),
        ("since is inclusive", filter(|f| f.since = Some(time(7))), vec![7, 9, 10]),
        ("until is exclusive", filter(|f| f.until = Some(time(2))), vec![1, 8]),
        ("since and until", filter(|f| (f.since, f.until) = (Some(time(3)), Some(time(5)))), vec![3, 4]),
        ("since in the future", filter(|f| f.since = Some(time(99))), vec![]),
        ("limit keeps the newest", filter(|f| f.limit = 3), vec![8, 9, 10]),
        ("limit zero", filter(|f| f.limit = 0), vec![]),
        ("since, then limit", filter(|f| (f.since, f.limit) = (Some(time(2)), 2)), vec![9, 10]),
        ("after gives the next ones", filter(|f| (f.after, f.limit) = (Some(2), 3)), vec![3, 4, 5]),
        ("before gives the ones before", filter(|f| (f.before, f.limit) = (Some(6), 2)), vec![4, 5]),
        ("after and before", filter(|f| (f.after, f.before) = (Some(3), Some(6))), vec![4, 5]),
        ("after the end", filter(|f| f.after = Some(10)), vec![]),
        ("text in errors", filter(|f| f.text = Some("SUCH file".into())), vec![5]),
        ("text with a percent sign", filter(|f| f.text = Some("100%".into())), vec![3]),
        ("text in inputs", filter(|f| f.text = Some("\"n\":6".into())), vec![6]),
        ("text as it is", filter(|f| f.text = Some("n_:".into())), vec![]),
        (
            "all together",
            filter(|f| {
                f.server = Some("demo".into());
                f.tool = Some("a*".into());
                f.provider = Some("openai".into());
                f.caller = Some("alice".into());
                f.status = Some(CallStatus::Error);
                f.since = Some(time(1));
            }),
            vec![10],
        ),
    ];
    let log = place.open(&Options::default());
    write(&log, calls());
    for (name, filter, expected) in &table {
        assert_eq!(&ids(&log, filter), expected, "{name}");
    }
}

pub(crate) fn an_entry_is_read_back_unchanged(place: &Place) {
    let log = place.open(&Options::default());
    let mut calls = calls();
    calls.push(CallRecord {
        outcome: Outcome::Error {
            message: "no".into(),
            code: None,
            result: Some("{\"isError\":true}".into()),
        },
        input: "{\"big\": 123456789012345678901234567890}".into(),
        ran_on: Some("other".into()),
        ..record(11)
    });
    write(&log, calls.clone());
    let entries = log.query(&Filter::default()).unwrap().entries;
    assert_eq!(entries.iter().map(|entry| entry.id).collect::<Vec<_>>(), (1..=11).collect::<Vec<_>>());
    assert_eq!(entries.into_iter().map(|entry| entry.call).collect::<Vec<_>>(), calls);
}

/// Blocks must not skip anything that matches.
pub(crate) fn blocks_change_no_answer(place: &Place) {
    let log = place.open(&Options::default());
    let calls: Vec<CallRecord> = (0..5000)
        .map(|number: i64| {
            // Times go up and down; some names occur in a few blocks only.
            let mut call = record(number * 7919 % 5000);
            call.tool = format!("tool-{}", number / 900).into();
            call.caller = (number % 1777 == 0).then(|| "rare".into());
            if number % 2500 == 3 {
                call.outcome = Outcome::error("no", "NO");
            }
            call
        })
        .collect();
    write(&log, calls.clone());
    let expected = |matches: &dyn Fn(&CallRecord) -> bool| -> Vec<i64> {
        (1..).zip(&calls).filter(|(_, call)| matches(call)).map(|(id, _)| id).collect()
    };
    let all = |f: &mut Filter| f.limit = 10_000;
    for tool in ["tool-0", "tool-2", "tool-5", "tool-9"] {
        let filter = filter(|f| {
            all(f);
            f.tool = Some(tool.to_owned());
        });
        assert_eq!(ids(&log, &filter), expected(&|call| &*call.tool == tool), "{tool}");
    }
    let rare = filter(|f| {
        all(f);
        f.caller = Some("rare".to_owned());
    });
    assert_eq!(ids(&log, &rare), [1, 1778, 3555]);
    let errors = filter(|f| {
        all(f);
        f.status = Some(CallStatus::Error);
    });
    assert_eq!(ids(&log, &errors), [4, 2504]);
    for second in [0, 17, 2500, 4999] {
        let since = filter(|f| {
            all(f);
            f.since = Some(time(second));
        });
        assert_eq!(ids(&log, &since), expected(&|call| call.timestamp >= time(second)), "since {second}");
        let one = filter(|f| f.correlation_id = Some(format!("c-{second}")));
        assert_eq!(
            ids(&log, &one),
            expected(&|call| *call.correlation_id == *format!("c-{second}")),
            "id {second}"
        );
    }
}

pub(crate) fn pages_in_both_directions_cover_everything_once(place: &Place) {
    let log = place.open(&Options::default());
    write(&log, (0..2500).map(record));
    let mut forwards = Vec::new();
    let mut request = filter(|f| (f.after, f.limit) = (Some(0), 700));
    loop {
        let page = log.query(&request).unwrap();
        forwards.extend(page.entries.iter().map(|entry| entry.id));
        request.after = Some(page.next_after(&request));
        if !page.more {
            break;
        }
    }
    assert_eq!(forwards, (1..=2500).collect::<Vec<_>>());
    assert_eq!(request.after, Some(2500));

    let mut backwards = Vec::new();
    let mut request = filter(|f| f.limit = 700);
    loop {
        let page = log.query(&request).unwrap();
        backwards.splice(0..0, page.entries.iter().map(|entry| entry.id));
        request.before = page.entries.first().map(|entry| entry.id);
        if !page.more {
            break;
        }
    }
    assert_eq!(backwards, (1..=2500).collect::<Vec<_>>());
}

pub(crate) fn a_page_ends_at_its_byte_limit_and_the_next_continues(place: &Place) {
    let log = place.open(&Options::default());
    let text = "x".repeat(1000);
    write(
        &log,
        (1..=10).map(|second| {
            let mut call = record(second);
            call.input = format!("\"{text}\"").into();
            call
        }),
    );
    // Three entries of about 1,280 bytes fit.
    let pages = |after: Option<i64>, max_bytes: usize| {
        let mut pages = Vec::new();
        let mut filter = filter(|f: &mut Filter| (f.after, f.max_bytes) = (after, max_bytes));
        loop {
            let page = log.query(&filter).unwrap();
            pages.push(page.entries.iter().map(|entry| entry.id).collect::<Vec<_>>());
            if !page.more {
                return pages;
            }
            match filter.after {
                Some(_) => filter.after = Some(page.next_after(&filter)),
                None => filter.before = page.entries.first().map(|entry| entry.id),
            }
        }
    };
    assert_eq!(pages(None, 4000), [vec![8, 9, 10], vec![5, 6, 7], vec![2, 3, 4], vec![1]]);
    assert_eq!(pages(Some(0), 4000), [vec![1, 2, 3], vec![4, 5, 6], vec![7, 8, 9], vec![10]]);
    // An entry that is larger than a page is returned alone.
    assert_eq!(pages(Some(7), 1), [vec![8], vec![9], vec![10]]);
    assert_eq!(pages(None, 16 << 20), [(1..=10).collect::<Vec<_>>()]);
}

pub(crate) fn a_provider_is_found_by_its_other_names_too(place: &Place) {
    let log = place.open(&Options::default());
    let by = |provider: &str| {
        let mut call = record(0);
        call.provider = Some(provider.into());
        call
    };
    write(&log, ["openai", "openai-chat", "gemini", "openai"].map(by));
    let find = |name: &str, aliases: &[&str]| {
        let aliases = aliases.iter().map(|alias| (*alias).to_owned()).collect();
        ids(&log, &filter(|f| (f.provider, f.provider_aliases) = (Some(name.into()), aliases)))
    };
    assert_eq!(find("openai", &[]), [1, 4]);
    assert_eq!(find("openai", &["openai-chat"]), [1, 2, 4]);
    assert_eq!(find("openai-chat", &["openai", "nobody"]), [1, 2, 4]);
    assert_eq!(find("nobody", &["gemini"]), [3]);
}
