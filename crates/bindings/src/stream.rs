//! Streamed replies, byte by byte or chunk by chunk.

use gateway_dialects::Protocol;
use gateway_dialects::stream::{Assembler, Outcome, StreamEvent, StreamOptions, StreamedCall, protocol_of};
use serde_json::{Value, json};

use crate::calls::CallReader;
use crate::error::EngineError;
use crate::settings::Settings;
use crate::shield::shielded;

/// The longest event, line or list that is kept until it is whole.
const LONGEST: usize = 64 << 20;

/// Stands for a last chunk.
const DONE: &[u8] = b"[DONE]";

/// Assembles one streamed reply: bytes of server-sent events or of JSON lines, or chunks that somebody parsed. Calls are
/// given when they are complete.
#[derive(Debug)]
pub struct StreamAssembler {
    reader: CallReader,
    assembler: Option<(Protocol, Assembler)>,
    /// Whether calls have come, so that the protocol is certain.
    has_calls: bool,
    /// Chunks of no known shape, while nothing else came.
    unknown: usize,
    bytes: Vec<u8>,
    form: Form,
    /// Data lines of the event that is not over yet.
    data: Vec<u8>,
    is_over: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// Nothing has come yet.
    Unknown,
    /// Events, or a chunk a line.
    Lines,
    /// One JSON document, which is read when it is whole.
    Document,
}

impl StreamAssembler {
    /// Takes the options of `parse_calls`.
    pub fn new(mut settings: Settings) -> Result<Self, EngineError> {
        let reader = shielded(|| CallReader::new(&mut settings))?;
        settings.end()?;
        let protocol = reader.dialect.as_ref().map(|dialect| dialect.messages.protocol);
        let assembler =
            protocol.map(|protocol| (protocol, Assembler::new(protocol, StreamOptions::default())));
        Ok(Self {
            reader,
            assembler,
            has_calls: false,
            unknown: 0,
            bytes: Vec::new(),
            form: Form::Unknown,
            data: Vec::new(),
            is_over: false,
        })
    }

    /// Takes the next bytes, and gives what they complete. What cannot be read in them is an event of the type `error`, so that it takes
    /// nothing else along.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<Value>, EngineError> {
        self.check_open()?;
        let known = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        if self.bytes.len() + self.data.len() > LONGEST {
            let message = format!("the stream has an event of more than {LONGEST} bytes");
            return Err(EngineError::invalid(message));
        }
        let mut events = Vec::new();
        // Lines end in what is new: what was there before was looked through when it came.
        self.choose_form(known);
        if self.form == Form::Lines
            && let Some(end) = bytes.iter().rposition(|byte| *byte == b'\n').map(|index| known + index)
        {
            self.whole_lines(end, &mut events)?;
        }
        Ok(events)
    }

    /// Takes one parsed chunk.
    pub fn push_chunk(&mut self, chunk: &Value) -> Result<Vec<Value>, EngineError> {
        self.check_open()?;
        let mut events = Vec::new();
        self.chunk(chunk, &mut events)?;
        Ok(events)
    }

    /// Ends the reply: what was still held, and calls that never ended.
    pub fn finish(&mut self) -> Result<Vec<Value>, EngineError> {
        self.check_open()?;
        self.is_over = true;
        let mut events = Vec::new();
        match self.form {
            // One chunk, which no line end followed.
            Form::Unknown | Form::Lines => {
                self.bytes.extend_from_slice(b"\n\n");
                self.whole_lines(self.bytes.len() - 1, &mut events)?;
            }
            Form::Document => {
                let text = std::mem::take(&mut self.bytes);
                match parsed(&text)? {
                    Value::Array(chunks) => {
                        for chunk in &chunks {
                            self.chunk(chunk, &mut events)?;
                        }
                    }
                    chunk => self.chunk(&chunk, &mut events)?,
                }
            }
        }
        if let Some((_, assembler)) = &mut self.assembler {
            let last = shielded(|| Ok(assembler.finish()))?;
            self.take(last, &mut events);
        } else if self.unknown > 0 {
            let message = "no known API sends such chunks: name the provider or the model";
            return Err(EngineError::invalid(message));
        }
        Ok(events)
    }

    fn check_open(&self) -> Result<(), EngineError> {
        if self.is_over {
            return Err(EngineError::invalid("the reply is over: make an assembler for each reply"));
        }
        Ok(())
    }

    /// Lines, unless the first thing is a document that goes on after its first line, whose end is not among the `known` bytes.
    fn choose_form(&mut self, known: usize) {
        if self.form != Form::Unknown {
            return;
        }
        let text = self.bytes.trim_ascii_start();
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        let start = self.bytes.len() - text.len();
        self.form = match text.first() {
            None => Form::Unknown,
            Some(b'[') => Form::Document,
            Some(b'{') => match self.bytes.iter().skip(start.max(known)).position(|byte| *byte == b'\n') {
                None => Form::Unknown,
                Some(index)
                    if self
                        .bytes
                        .get(start..start.max(known) + index)
                        .is_some_and(|line| parsed(line).is_ok()) =>
                {
                    Form::Lines
                }
                Some(_) => Form::Document,
            },
            Some(_) => Form::Lines,
        };
    }

    /// Reads the lines up to the one that ends at `end`.
    fn whole_lines(&mut self, end: usize, events: &mut Vec<Value>) -> Result<(), EngineError> {
        let rest = self.bytes.split_off(end + 1);
        let whole = std::mem::replace(&mut self.bytes, rest);
        for line in whole.split(|byte| *byte == b'\n') {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
            if line.is_empty() {
                let data = std::mem::take(&mut self.data);
                self.document(&data, events)?;
            } else if let Some(data) = line.strip_prefix(b"data:") {
                if !self.data.is_empty() {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(data.strip_prefix(b" ").unwrap_or(data));
            } else if line.starts_with(b"{") {
                self.document(line, events)?;
            }
        }
        Ok(())
    }

    fn document(&mut self, text: &[u8], events: &mut Vec<Value>) -> Result<(), EngineError> {
        let text = text.trim_ascii();
        if text.is_empty() || text == DONE {
            return Ok(());
        }
        match parsed(text) {
            Ok(chunk) => self.chunk(&chunk, events),
            Err(error) => {
                events
                    .push(json!({"type": "error", "error": {"code": error.code, "message": error.message}}));
                Ok(())
            }
        }
    }

    fn chunk(&mut self, chunk: &Value, events: &mut Vec<Value>) -> Result<(), EngineError> {
        if self.reader.dialect.is_none() && !self.has_calls {
            // An API may have an older form of calls, which only the chunks with calls tell.
            let found = protocol_of(std::slice::from_ref(chunk));
            let current = self.assembler.as_ref().map(|(protocol, _)| *protocol);
            if let Some(found) = found.filter(|found| Some(*found) != current) {
                self.assembler = Some((found, Assembler::new(found, StreamOptions::default())));
            }
        }
        if let Some((_, assembler)) = &mut self.assembler {
            let brought = shielded(|| Ok(assembler.push(chunk)))?;
            self.has_calls |= assembler.waiting_bytes() > 0;
            self.take(brought, events);
            return Ok(());
        }
        if let Some(error) = chunk.get("error").filter(|error| !error.is_null()) {
            events.push(json!({"type": "error", "error": error}));
        } else {
            self.unknown += 1;
        }
        Ok(())
    }

    fn take(&mut self, brought: Vec<StreamEvent>, events: &mut Vec<Value>) {
        let protocol = self.assembler.as_ref().map(|(protocol, _)| *protocol);
        for event in brought {
            events.push(match event {
                StreamEvent::Text(text) => json!({"type": "text", "text": text}),
                StreamEvent::Reasoning(text) => json!({"type": "reasoning", "text": text}),
                StreamEvent::ReasoningItem(item) => json!({"type": "reasoning_item", "item": item}),
                StreamEvent::Signature(signature) => json!({"type": "signature", "signature": signature}),
                StreamEvent::Stop(reason) => json!({"type": "stop", "reason": reason}),
                StreamEvent::Usage(usage) => json!({"type": "usage", "usage": usage}),
                StreamEvent::Error(error) => json!({"type": "error", "error": error}),
                StreamEvent::TooManyCalls(limit) => json!({
                    "type": "error", "error": {"message": format!("more than {limit} calls; the rest is not given")},
                }),
                StreamEvent::Call(StreamedCall { call, outcome }) => {
                    self.has_calls = true;
                    let broken = |message: &str| {
                        call.to_neutral(Err(json!({"code": "VALIDATION_ERROR", "message": message})))
                    };
                    let call = match outcome {
                        Outcome::Complete => shielded(|| self.reader.neutral(&call, protocol))
                            .unwrap_or_else(|error| broken(&error.message)),
                        Outcome::Limited => broken("the arguments are too long, and were cut"),
                        Outcome::Unfinished => broken("the stream ended in the middle of the call"),
                    };
                    json!({"type": "call", "call": call})
                }
                // Calls in the text are not looked for.
                _ => continue,
            });
        }
    }
}

fn parsed(text: &[u8]) -> Result<Value, EngineError> {
    gateway_dialects::from_slice(text).map_err(|error| EngineError::no_json("a chunk of the stream", &error))
}
