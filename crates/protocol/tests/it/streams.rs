//! Lines and events in pieces.

use gateway_protocol::{Addressee, Line, LineSplitter, SseError, SseParser};
use proptest::prelude::*;

fn lines(splitter: &mut LineSplitter, pieces: &[&[u8]]) -> Vec<Line> {
    let mut found = Vec::new();
    for piece in pieces {
        splitter.buffer().extend_from_slice(piece);
        found.extend(std::iter::from_fn(|| splitter.next_line()));
    }
    found
}

#[test]
fn an_over_long_line_is_skipped_and_the_next_one_read() {
    let mut splitter = LineSplitter::new(10);
    let found = lines(&mut splitter, &[b"short\r\n{\"id\":1,", b"xxxxxxxxxxxxxxxx", b"yyy\nnext\n"]);
    assert_eq!(found.first(), Some(&Line::Whole("short".into())));
    assert!(matches!(found.get(1), Some(Line::TooLongBegins { .. })), "{found:?}");
    let Some(Line::TooLongEnds { tail, bytes, .. }) = found.get(2) else { panic!("{found:?}") };
    assert_eq!((tail.as_ref().ends_with(b"yyy"), *bytes), (true, 27));
    assert_eq!(found.get(3), Some(&Line::Whole("next".into())));
}

#[test]
fn an_endless_line_holds_no_more_than_the_bound() {
    let mut splitter = LineSplitter::new(1_000);
    let piece = vec![b'x'; 64 * 1024];
    for _ in 0..100 {
        splitter.buffer().extend_from_slice(&piece);
        while splitter.next_line().is_some() {}
        assert!(splitter.buffer().len() <= piece.len());
    }
    assert_eq!(splitter.skipped(), 100 * 64 * 1024);
}

#[test]
fn events_follow_the_standard() {
    let mut parser = SseParser::new(1_000);
    parser.push(
        b"\xef\xbb\xbf: comment\n\nevent: endpoint\ndata: /messages?x=1\n\nid: 7\nretry: 250\ndata:a\ndata\n",
    );
    parser.push(b"data: b\r\n\r\nevent: empty\n\ndata: {}\n\n");
    let mut found = Vec::new();
    while let Some(event) = parser.next_event().unwrap() {
        found.push((event.event, String::from_utf8(event.data.to_vec()).unwrap(), event.id));
    }
    let seven = Some("7".to_owned());
    assert_eq!(
        found,
        [
            ("endpoint".to_owned(), "/messages?x=1".to_owned(), None),
            ("message".to_owned(), "a\n\nb".to_owned(), seven.clone()),
            ("message".to_owned(), "{}".to_owned(), seven),
        ]
    );
    assert_eq!(parser.retry_ms(), Some(250));
}

#[test]
fn an_over_long_event_is_an_error() {
    let mut parser = SseParser::new(8);
    parser.push(b"data: 12345678901234567890\n\n");
    assert_eq!(parser.next_event(), Err(SseError::TooLong { limit: 8 }));
}

#[test]
fn an_event_that_is_given_up_is_passed_over() {
    let answered = |id| SseError::GivenUp { addressee: Addressee::Request(id) };
    for (first, rest) in [
        ("data: {\"result\":\"xxxx", "xxxx\",\"id\":7}\n\n"),
        ("data: {\"result\":\ndata: \"xxxx\",", "\ndata: \"id\"\ndata: :7}\n\n"),
        ("id: 1\ndata: {\"result\":1,\n", "data: \"id\":7}\n\n"),
    ] {
        let mut parser = SseParser::new(1_000);
        parser.push(first.as_bytes());
        assert_eq!(parser.next_event(), Ok(None));
        parser.give_up();
        assert!(parser.held() <= first.len(), "{first}");
        parser.push(rest.as_bytes());
        assert_eq!(parser.next_event(), Err(answered(7)), "{first}");
        parser.push(b"data: {}\n\n");
        let next = parser.next_event().unwrap().unwrap();
        assert_eq!((next.event.as_str(), next.data.as_ref()), ("message", b"{}".as_slice()), "{first}");
    }
}

proptest! {
    #[test]
    fn pieces_do_not_matter(text in "(data: [a-z]{0,9}\n|event: [a-z]{1,5}\n|: x\n|\n){0,40}", cut in 1_usize..7) {
        let whole = {
            let mut parser = SseParser::new(1_000);
            parser.push(text.as_bytes());
            std::iter::from_fn(|| parser.next_event().unwrap()).collect::<Vec<_>>()
        };
        let mut parser = SseParser::new(1_000);
        let mut pieces = Vec::new();
        for piece in text.as_bytes().chunks(cut) {
            parser.push(piece);
            pieces.extend(std::iter::from_fn(|| parser.next_event().unwrap()));
        }
        prop_assert_eq!(whole, pieces);
    }
}
