//! Precision and recall on `lines.tsv`.
//!
//! Each line has the kinds of its findings, or `-`, a tab, and a text with «guillemets» around each finding; `␊` stands for a line break.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::collections::BTreeMap;

use gateway_privacy::{Detector, Finding, Kind};

const LINES: &str = include_str!("lines.tsv");

/// Expected, found, and both.
#[derive(Clone, Copy, Default)]
struct Score {
    expected: usize,
    found: usize,
    right: usize,
}

impl Score {
    fn precision(self) -> f64 {
        share(self.right, self.found)
    }

    fn recall(self) -> f64 {
        share(self.right, self.expected)
    }
}

fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 {
        1.0
    } else {
        f64::from(u32::try_from(part).unwrap()) / f64::from(u32::try_from(whole).unwrap())
    }
}

/// The text of a line without its marks, and what is marked.
fn parse(line: &str) -> (String, Vec<Finding>) {
    let (kinds, marked) = line.split_once('\t').unwrap();
    let mut kinds = kinds.split(',').filter(|kind| *kind != "-").map(|kind| Kind::parse(kind).unwrap());
    let mut text = String::new();
    let mut expected = Vec::new();
    let mut start = 0;
    for character in marked.chars() {
        match character {
            '«' => start = text.len(),
            '»' => expected.push(Finding { kind: kinds.next().unwrap(), range: start..text.len() }),
            '␊' => text.push('\n'),
            other => text.push(other),
        }
    }
    assert_eq!(kinds.next(), None, "{line}");
    (text, expected)
}

#[test]
fn precision_and_recall_are_at_least_95_percent() {
    let detector = Detector::default();
    let mut scores: BTreeMap<Kind, Score> = BTreeMap::new();
    let (mut with, mut without) = (0, 0);
    for line in LINES.lines() {
        let (text, expected) = parse(line);
        *(if expected.is_empty() { &mut without } else { &mut with }) += 1;
        let found = detector.find(&text);
        for finding in &expected {
            let score = scores.entry(finding.kind).or_default();
            score.expected += 1;
            if found.contains(finding) {
                score.right += 1;
            } else {
                println!("missed {} in {line}", finding.kind);
            }
        }
        for finding in &found {
            scores.entry(finding.kind).or_default().found += 1;
            if !expected.contains(finding) {
                println!("wrongly found {} {:?} in {line}", finding.kind, &text[finding.range.clone()]);
            }
        }
    }
    let mut all = Score::default();
    println!("{with} lines with personal data, {without} without");
    for (kind, score) in &scores {
        println!(
            "{kind}: precision {:.3}, recall {:.3} of {}",
            score.precision(),
            score.recall(),
            score.expected
        );
        all.expected += score.expected;
        all.found += score.found;
        all.right += score.right;
    }
    println!("all: precision {:.3}, recall {:.3} of {}", all.precision(), all.recall(), all.expected);
    assert!(with >= 100 && without >= 100, "{with} with, {without} without");
    assert!(
        all.precision() >= 0.95 && all.recall() >= 0.95,
        "precision {}, recall {}",
        all.precision(),
        all.recall()
    );
}
