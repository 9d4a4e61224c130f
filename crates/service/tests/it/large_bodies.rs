//! Bodies that are too large, from callers that send all before they read anything.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::client::{Answer, Service, read_answer};

/// More than all buffers of a connection on this machine hold.
const LARGE: usize = 24 << 20;

/// Sends all, then reads the answer, then the end of the connection.
async fn sent_whole(service: &Service, head: &str, body: &[u8]) -> Answer {
    let mut stream = service.connect().await;
    let head = format!("{head}host: localhost\r\ncontent-type: application/json\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    for piece in body.chunks(16 << 10) {
        stream.write_all(piece).await.expect("the gateway reads on");
    }
    let answer = read_answer(&mut stream).await;
    assert_eq!(stream.read(&mut [0_u8; 16]).await.unwrap(), 0, "and then ends the connection");
    answer
}

#[tokio::test]
async fn a_caller_that_sends_all_before_it_reads_gets_its_answer() {
    let service = Service::start().await;
    let body = vec![b' '; LARGE];
    for route in ["/execute", "/mcp"] {
        let head = format!("POST {route} HTTP/1.1\r\ncontent-length: {LARGE}\r\n");
        let answer = sent_whole(&service, &head, &body).await;
        assert_eq!((answer.status, answer.code().as_str()), (413, "BODY_TOO_LARGE"), "{route}");
        assert_eq!(answer.header("connection"), Some("close"), "{route}");
    }
}

#[tokio::test]
async fn chunks_are_read_to_the_end_too() {
    let service = Service::start().await;
    let mut body = Vec::new();
    for _ in 0..LARGE >> 20 {
        body.extend_from_slice(b"100000\r\n");
        body.resize(body.len() + (1 << 20), b' ');
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(b"0\r\n\r\n");
    for route in ["/execute", "/mcp"] {
        let head = format!("POST {route} HTTP/1.1\r\ntransfer-encoding: chunked\r\n");
        let answer = sent_whole(&service, &head, &body).await;
        assert_eq!((answer.status, answer.code().as_str()), (413, "BODY_TOO_LARGE"), "{route}");
    }
}

#[tokio::test]
async fn other_refusals_are_heard_too() {
    let service = Service::start().await;
    let head = format!("POST /nowhere HTTP/1.1\r\nconnection: close\r\ncontent-length: {LARGE}\r\n");
    let answer = sent_whole(&service, &head, &vec![b' '; LARGE]).await;
    assert_eq!(answer.status, 404);
}

#[tokio::test]
async fn who_asks_before_sending_is_told_no_at_once() {
    let service = Service::start().await;
    let mut stream = service.connect().await;
    let head = format!(
        "POST /execute HTTP/1.1\r\nhost: localhost\r\nexpect: 100-continue\r\ncontent-type: application/json\r\n\
         content-length: {LARGE}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
}

#[tokio::test]
async fn not_everything_is_read() {
    let service = Service::start().await;
    let mut stream = service.connect().await;
    let head = "POST /execute HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1099511627776\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    let piece = vec![b' '; 1 << 20];
    let mut sent = 0;
    while sent < 256 && stream.write_all(&piece).await.is_ok() {
        sent += 1;
    }
    assert!(sent < 256, "the gateway reads without end");
}
