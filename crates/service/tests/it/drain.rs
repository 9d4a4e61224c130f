//! Ending well.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::client::{Service, read_answer, read_until};

#[tokio::test]
async fn requests_at_work_finish_and_streams_end() {
    let service = Service::start().await;
    let address = service.running.address();
    let mut slow = service.connect().await;
    let body = r#"{"server":"demo","tool":"add","arguments":{"a":1,"b":2}}"#;
    let head = format!(
        "POST /call_tool HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    slow.write_all(head.as_bytes()).await.unwrap();
    let mut stream = service.connect().await;
    stream.write_all(b"GET /logs?follow=true HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    read_until(&mut stream, &mut String::new(), |text| text.contains("retry: 1000")).await;
    let mut idle = service.connect().await;
    idle.write_all(b"GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    assert_eq!(read_answer(&mut idle).await.status, 200);
    // The request is being read: its head has certainly arrived once later ones are answered.
    assert_eq!(service.get("/livez").await.status, 200);
    let ending = tokio::spawn(service.running.shutdown());
    let mut rest = String::new();
    stream.read_to_string(&mut rest).await.unwrap();
    assert_eq!(idle.read(&mut [0; 16]).await.unwrap(), 0, "unused connections are closed");
    assert!(!ending.is_finished(), "a request is at work");
    slow.write_all(body.as_bytes()).await.unwrap();
    let answer = read_answer(&mut slow).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert_eq!(answer.header("connection"), Some("close"));
    assert!(ending.await.unwrap(), "everything finished");
    assert!(tokio::net::TcpStream::connect(address).await.is_err(), "nobody listens");
}

#[tokio::test]
async fn requests_that_take_too_long_are_broken_off() {
    let service = Service::with(|config| config.drain = Duration::from_millis(100)).await;
    let mut slow = service.connect().await;
    let head = "POST /call_tool HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n";
    slow.write_all(head.as_bytes()).await.unwrap();
    assert_eq!(service.get("/livez").await.status, 200);
    let ended = tokio::time::timeout(Duration::from_secs(10), service.running.shutdown()).await;
    assert_eq!(ended, Ok(false));
}

#[tokio::test]
async fn the_log_is_complete_at_the_end() {
    let service = Service::start().await;
    assert_eq!(service.add(1, 2).await.status, 200);
    let gateway = service.running.gateway().clone();
    assert!(service.running.shutdown().await);
    let status = gateway.log().status();
    assert_eq!((status.queued, status.written, status.waiting), (1, 1, 0));
}
