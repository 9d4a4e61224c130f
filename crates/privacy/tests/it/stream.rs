//! Streams: what is held back, and for how long.

use gateway_privacy::{Detector, Finding, Kind, MaskedPiece, StreamMask};

fn pieces(pieces: &[&str]) -> Vec<String> {
    let mut stream = StreamMask::new(Detector::default());
    let mut given: Vec<String> = pieces.iter().map(|piece| stream.push(piece).text).collect();
    given.push(stream.finish().text);
    given
}

#[test]
fn only_what_may_become_a_finding_is_held_back() {
    assert_eq!(pieces(&["Hello wor", "ld, how are", " you? "]), ["Hello ", "world, how ", "are you? ", ""]);
    assert_eq!(pieces(&["card 4242 4242 ", "4242 4242", " ok "]), ["card ", "", "[card] ok ", ""]);
}

#[test]
fn findings_have_their_bytes_in_the_whole_stream() {
    let mut stream = StreamMask::new(Detector::default());
    let filler = "word ".repeat(100);
    assert_eq!(stream.push(&filler).findings, []);
    assert_eq!(stream.push("anna@exam"), MaskedPiece::default());
    assert_eq!(stream.held(), 9);
    let piece = stream.push("ple.com, ");
    let findings = vec![Finding { kind: Kind::Email, range: 500..516 }];
    assert_eq!(piece, MaskedPiece { text: "[email], ".to_owned(), findings });
    assert_eq!(stream.finish(), MaskedPiece::default());
}

#[test]
fn what_never_ends_is_held_back_within_the_bound() {
    for unit in ["a", "1", "1 ", "+", "@", "a@", "a.", "1\u{200B}", "(", "%2B", "-", "a1-", "é"] {
        let mut stream = StreamMask::new(Detector::default());
        let mut given = 0;
        for _ in 0..2000 {
            given += stream.push(unit).text.len();
            assert!(stream.held() <= StreamMask::MAX_HELD, "{unit}: {}", stream.held());
        }
        assert_eq!(given + stream.held(), unit.len() * 2000);
    }
}

#[test]
fn invisible_characters_are_given_out_where_nothing_is_masked() {
    let hidden = "\u{200B}".repeat(40);
    let parts =
        ["\u{FEFF}card 4", &hidden, "242 4242 4242 42", &hidden, "42", &hidden, ", \u{AD}ok 👍\u{FE0F} "];
    let given = pieces(&parts).concat();
    assert_eq!(given, format!("\u{FEFF}card [card]{hidden}, \u{AD}ok 👍\u{FE0F} "));
    // Without an end they are dropped, and what they hide is not lost sight of.
    let mut stream = StreamMask::new(Detector::default());
    assert_eq!(stream.push("4242 4242 4242 42"), MaskedPiece::default());
    for _ in 0..10_000 {
        assert_eq!(stream.push("\u{2060}"), MaskedPiece::default());
    }
    let findings = vec![Finding { kind: Kind::Card, range: 0..30_019 }];
    assert_eq!(stream.push("42, "), MaskedPiece { text: "[card], ".to_owned(), findings });
    assert_eq!(stream.held(), 0);
}
