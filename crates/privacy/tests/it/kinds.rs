//! Each kind in its forms, and beside what looks like it.

#![expect(clippy::panic, reason = "a helper of tests")]

use gateway_privacy::{Applied, Detector, Kind, Mode};

/// Compares the masked text.
#[track_caller]
fn check(text: &str, masked: &str) {
    let Applied::Passed { output, .. } = Detector::default().apply(text, Mode::Mask) else {
        panic!("blocked")
    };
    assert_eq!(output, masked, "{text}");
}

#[test]
fn cards_are_found_with_the_usual_separators() {
    for text in [
        "4242424242424242",
        "4242 4242 4242 4242",
        "4242-4242-4242-4242",
        "4242.4242.4242.4242",
        "4242  4242  4242  4242",
        "4242 - 4242 - 4242 - 4242",
        "3782 822463 10005",
        "3782 8224 6310 005",
        "42424242 42424242",
        "6205 5000 0000 0000 004",
    ] {
        check(text, "[card]");
    }
    check("4242 4242-4242 4242", "4242 4242-4242 4242");
    check("4242\n4242\n4242\n4242", "4242\n4242\n4242\n4242");
}

#[test]
fn what_stands_beside_a_card_is_kept() {
    check("4242 4242 4242 4242 123", "[card] 123");
    check("4242 4242 4242 4242 1227 123", "[card] 1227 123");
    check("4242 4242 4242 4242 5555 5555 5555 4444 4000 0566 5566 5556", "[card] [card] [card]");
    check("12/25 4242 4242 4242 4242", "12/25 [card]");
    check("4242424242424242:123", "[card]:123");
    check("4242424242424242.", "[card].");
    check("4242424242424242.pdf", "[card].pdf");
    check("17,4242424242424242,x", "17,[card],x");
}

#[test]
fn parts_of_longer_codes_are_no_cards() {
    for text in [
        "x4242424242424242",
        "4242424242424242x",
        "4242424242424242_1",
        "0.4242424242424242",
        "4242424242424242.5",
        "7-4242424242424242",
        "4242 4242 4242 4242 9999 9999",
        "9999 4242 4242 4242 4242",
        "04242424242424242",
        "4006381333931",
    ] {
        check(text, text);
    }
    // Where a word says card, a product code is one: both check digits agree.
    check("visa 4006381333931", "visa 4006381333931");
}

#[test]
fn look_alikes_and_invisible_characters_hide_nothing() {
    check("４２４２４２４２４２４２４２４２", "[card]");
    check("4242\u{A0}4242\u{202F}4242\u{2009}4242", "[card]");
    check("4242\u{2013}4242\u{2011}4242\u{2212}4242", "[card]");
    check("42\u{200B}42424242424\u{FEFF}242", "[card]");
    check("٤٢٤٢٤٢٤٢٤٢٤٢٤٢٤٢", "[card]");
    check("536\u{2013}90\u{2013}4399", "[ssn]");
    check("ＤＥ８９３７０４００４４０５３２０１３０００", "[iban]");
    check("anna＠example．com", "[email]");
    check("an\u{AD}na@example.com", "[email]");
    check("\u{202A}+1 650 253 0000\u{202C}", "\u{202A}[phone]\u{202C}");
}

#[test]
fn bare_numbers_need_a_word() {
    check("536904399", "536904399");
    check("SSN 536904399", "SSN [ssn]");
    check("ssn\n536904399", "ssn\n[ssn]");
    check("536904399 (SSN)", "[ssn] (SSN)");
    check("SSN 536.90.4399", "SSN [ssn]");
    check("536.90.4399", "536.90.4399");
    check("4155552671", "4155552671");
    check("tel 4155552671", "tel [phone]");
    check("tel 4155552671, order 4155552672", "tel [phone], order 4155552672");
    check("415 555 2671", "415 555 2671");
    check(
        &format!("microphone{}4155552671", " ".repeat(59)),
        &format!("microphone{}4155552671", " ".repeat(59)),
    );
    check(
        &format!("micro phone{}4155552671", " ".repeat(59)),
        &format!("micro phone{}[phone]", " ".repeat(59)),
    );
    check("my number: 415 555 2671", "my number: [phone]");
}

#[test]
fn telephone_numbers_keep_what_follows() {
    check("+1 415 555 2671 2024-01-01", "[phone] 2024-01-01");
    check("415-555-2671 ext. 5", "[phone] ext. 5");
    check("12:30:05 415-555-2671", "12:30:05 [phone]");
    check("+49 170 1234567 2024-01-01", "[phone] 2024-01-01");
    check("(415) 555-2671, (212) 555-0143", "[phone], [phone]");
    check("011 44 20 7946 0958", "[phone]");
    check("0 (532) 123 45 67", "[phone]");
}

#[test]
fn other_numbers_are_no_telephone_numbers() {
    for text in [
        "+1234567890",
        "+1 911 555 2671",
        "++14155552671",
        "x+14155552671",
        "$415-555-2671",
        "1/415-555-2671",
        "phone 192.168.100.200",
        "phone 2024-01-01",
        "phone: 1700000000",
        "Telefon 1 299 000 €",
        "phone_id=4155552671",
        "02139-4307",
        "01-02-2024 10",
        "01-23-45-67-89-12",
        "012.034.056.078",
    ] {
        check(text, text);
    }
}

#[test]
fn addresses_end_where_the_sentence_goes_on() {
    check("mail anna@example.com.", "mail [email].");
    check("anna@example.com, bob@example.com;", "[email], [email];");
    check("_anna@example.com and *bob@example.com*", "_[email] and *[email]*");
    check("'anna@example.com'", "'[email]'");
    check("anna@example.com-", "[email]-");
    check("anna@example.com--thanks", "[email]--thanks");
    check("so—anna@example.com—thanks", "so—[email]—thanks");
    check("see...anna@example.com...", "see...[email]...");
    check("anna%2Bnews%40example.com", "[email]");
    check("anna@example.com:hunter2", "[email]:hunter2");
    check("anna@example.com.123", "[email].123");
}

#[test]
fn what_only_looks_like_an_address_is_kept() {
    for text in [
        "git@github.com:owner/repo.git",
        "git@github.com/owner/repo",
        "deploy@web.example.com:/srv",
        "anna@laptop.local:~$",
        "https://anna@ci.example.com/job",
        "postgres://app:secret@db.example.com/app",
        "user@localhost",
        "root@localhost.localdomain",
        "user@192.168.1.1",
        "user@[192.168.1.1]",
        "icon@2x.png",
        "lodash@4.17.21",
        "getty@tty1.service",
        "w@x.mean()",
        "a@b@c.com@d",
        ".@example.com",
        "a.@example.com",
        "@example.com",
        "a@.com",
        "a@b.c",
        "a@-b.com",
        "a@example.com_old",
    ] {
        check(text, text);
    }
    check(&format!("{}@example.com", "a".repeat(64)), "[email]");
    let long = format!("{}@example.com", "a".repeat(65));
    check(&long, &long);
    let label = format!("a@{}.com", "b".repeat(64));
    check(&label, &label);
}

#[test]
fn only_chosen_kinds_are_found() {
    let text = "4242424242424242 DE89370400440532013000 536-90-4399 +14155552671 a@example.com";
    for kind in Kind::ALL {
        let found: Vec<Kind> = Detector::new([kind]).find(text).iter().map(|finding| finding.kind).collect();
        assert_eq!(found, [kind]);
    }
    let all: Vec<Kind> = Detector::default().find(text).iter().map(|finding| finding.kind).collect();
    assert_eq!(all, [Kind::Card, Kind::Iban, Kind::Ssn, Kind::Phone, Kind::Email]);
    assert_eq!(Detector::new([]).find(text), []);
}

#[test]
fn modes_mark_mask_and_block() {
    let detector = Detector::default();
    let text = "to a@example.com";
    let report = detector.find(text);
    assert_eq!(
        report.iter().map(|found| (found.kind, found.range.clone())).collect::<Vec<_>>(),
        [(Kind::Email, 3..16)]
    );
    let passed = |output: &'static str, report| Applied::Passed { output: output.into(), report };
    assert_eq!(detector.apply(text, Mode::Mark), passed(text, report.clone()));
    assert_eq!(detector.apply(text, Mode::Mask), passed("to [email]", report.clone()));
    assert_eq!(detector.apply(text, Mode::Block), Applied::Blocked { report });
    assert_eq!(detector.apply("nothing", Mode::Block), passed("nothing", vec![]));
}

#[test]
fn names_of_kinds_are_read_back() {
    assert_eq!(Kind::ALL.map(|kind| Kind::parse(kind.name())), Kind::ALL.map(Some));
    assert_eq!(Kind::parse("Card"), None);
}
