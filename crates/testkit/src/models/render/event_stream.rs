//! Messages of `application/vnd.amazon.eventstream`: lengths, headers, payload, and the checksums of both.

use super::{Frame, FrameKind};

/// The type of a header whose value is text.
const TEXT: u8 = 7;
/// Lengths and checksums around headers and payload.
const OVERHEAD: usize = 16;

/// The message of a frame.
pub(super) fn encode(frame: &Frame) -> Vec<u8> {
    let name = frame.event.as_deref().unwrap_or_default();
    let (name_header, message_type) = match frame.kind {
        FrameKind::Exception => (":exception-type", "exception"),
        _ => (":event-type", "event"),
    };
    let mut headers = Vec::new();
    for (key, value) in
        [(name_header, name), (":content-type", "application/json"), (":message-type", message_type)]
    {
        put_header(&mut headers, key, value);
    }
    let payload = frame.data.as_bytes();
    let mut message = Vec::new();
    put_length(&mut message, OVERHEAD + headers.len() + payload.len());
    put_length(&mut message, headers.len());
    put_checksum(&mut message);
    message.extend_from_slice(&headers);
    message.extend_from_slice(payload);
    put_checksum(&mut message);
    message
}

fn put_header(headers: &mut Vec<u8>, key: &str, value: &str) {
    headers.push(u8::try_from(key.len()).unwrap_or(u8::MAX));
    headers.extend_from_slice(key.as_bytes());
    headers.push(TEXT);
    headers.extend_from_slice(&u16::try_from(value.len()).unwrap_or(u16::MAX).to_be_bytes());
    headers.extend_from_slice(value.as_bytes());
}

fn put_length(message: &mut Vec<u8>, length: usize) {
    message.extend_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes());
}

/// The checksum of all before it.
fn put_checksum(message: &mut Vec<u8>) {
    let checksum = crc32(message);
    message.extend_from_slice(&checksum.to_be_bytes());
}

/// CRC-32 as in gzip, bit by bit: messages are short.
fn crc32(bytes: &[u8]) -> u32 {
    let remainder = bytes.iter().fold(u32::MAX, |remainder, byte| {
        (0..8).fold(remainder ^ u32::from(*byte), |remainder, _| {
            let low_bit = remainder & 1;
            (remainder >> 1) ^ (0xEDB8_8320 * low_bit)
        })
    });
    !remainder
}
