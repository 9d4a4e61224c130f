//! From a step and its request to the bytes of the answer.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp, tz::TimeZone};
use serde_json::Value;

use super::errors::{Problem, error, exception, stream_error};
use super::faults::Fault;
use super::plan::{Answer, End, Length, Plan};
use super::record::RecordedRequest;
use super::render::{self, Encoding, Frame, FrameKind, Turn};
use super::reply::Reply;
use super::script::{Act, Step};
use super::wire::{Form, Streamed, Wire};

const JSON: &str = "application/json";
/// How long a line is that no reader should keep.
const OVERSIZE: usize = 64 * 1024 * 1024;
/// How long every byte of a trickle takes.
const PACE: Duration = Duration::from_millis(20);
const PAGE: &str = "<!DOCTYPE html>\n<html><head><title>502 Bad Gateway</title></head>\n<body><center><h1>502 Bad Gateway</h1></center><hr><center>nginx</center></body></html>\n";

/// A request for a turn, with what its answer depends on.
#[derive(Debug)]
pub(crate) struct Asked<'a> {
    pub(crate) request: &'a RecordedRequest,
    pub(crate) form: Form,
    pub(crate) streamed: Streamed,
    /// Where a redirect goes, without a path.
    pub(crate) elsewhere: &'a str,
}

impl Asked<'_> {
    fn wire(&self) -> Wire {
        self.request.wire
    }

    fn is_streamed(&self) -> bool {
        match self.streamed {
            Streamed::ByPath(streamed) => streamed,
            Streamed::ByBody { default } => {
                self.request.body.get("stream").and_then(Value::as_bool).unwrap_or(default)
            }
        }
    }

    fn encoding(&self) -> Encoding {
        match self.form {
            Form::Chat
            | Form::Functions
            | Form::Responses
            | Form::Messages
            | Form::Mistral
            | Form::Cohere => Encoding::Events,
            Form::Ollama => Encoding::Lines,
            Form::Converse => Encoding::EventStream,
            Form::GenerateContent if self.request.query.split('&').any(|pair| pair == "alt=sse") => {
                Encoding::EventsWithCrlf
            }
            Form::GenerateContent => Encoding::List,
        }
    }

    fn turn(&self, step: &Step) -> Turn {
        let options = self.request.body.get("stream_options");
        let include_usage =
            options.and_then(|options| options.get("include_usage")) == Some(&Value::Bool(true));
        let model = self.request.model().unwrap_or_else(|| self.wire().usual_model().to_owned());
        Turn {
            wire: self.wire(),
            form: self.form,
            model,
            number: self.request.index + 1,
            include_usage,
            delivery: step.delivery.clone(),
        }
    }

    /// An error of the provider.
    pub(crate) fn refuse(&self, problem: &Problem) -> Answer {
        let (status, body) = error(self.wire(), self.form, problem);
        let answer = self.with_id(Answer::whole(status, JSON, body.to_string()));
        match self.form {
            Form::Converse => answer.header("x-amzn-errortype", exception(problem)),
            _ => answer,
        }
    }

    /// With the header by which the provider's support finds a request.
    fn with_id(&self, answer: Answer) -> Answer {
        let id = format!("req_{}", self.request.index + 1);
        match self.form {
            Form::Messages => answer.header("request-id", id),
            Form::Chat | Form::Functions | Form::Responses => answer.header("x-request-id", id),
            Form::Mistral => answer.header("mistral-correlation-id", id),
            Form::Converse => answer.header("x-amzn-requestid", id),
            Form::Ollama | Form::GenerateContent | Form::Cohere => answer,
        }
    }

    fn frames(&self, reply: &Reply, step: &Step) -> Vec<Frame> {
        render::stream(reply, &self.turn(step))
    }

    fn stream_of(&self, frames: &[Frame], step: &Step) -> Answer {
        let encoding = self.encoding();
        let mut chunks: Vec<Vec<u8>> = frames
            .iter()
            .enumerate()
            .map(|(index, frame)| encoding.encode(frame, index == 0, &step.delivery))
            .collect();
        if let Some(last) = chunks.last_mut() {
            last.extend_from_slice(encoding.end());
        }
        self.with_id(Answer::stream(200, encoding.content_type(), chunks)).header("cache-control", "no-cache")
    }

    fn reply(&self, reply: &Reply, step: &Step) -> Answer {
        if self.is_streamed() {
            return self.stream_of(&self.frames(reply, step), step);
        }
        let body = render::whole(reply, &self.turn(step)).to_string();
        self.with_id(Answer::whole(200, JSON, body))
    }

    /// What the step says, as a plan.
    pub(crate) fn plan(&self, step: &Step) -> Plan {
        match &step.act {
            Act::Reply(reply) => Plan::Answer(self.reply(reply, step)),
            Act::Behave(behaviour) => Plan::Answer(self.reply(&behaviour.reply(self.request), step)),
            Act::Fault(fault, reply) => self.fault(*fault, reply, step),
            Act::Raw { status, content_type, body } => {
                Plan::Answer(Answer::whole(*status, content_type, body.to_vec()))
            }
        }
    }

    fn fault(&self, fault: Fault, reply: &Reply, step: &Step) -> Plan {
        let seconds = step.retry_after;
        let limited = || self.refuse(&Problem::RateLimited { seconds });
        let tool = || self.request.tools().first().map_or_else(|| "add".to_owned(), |tool| tool.name.clone());
        let model = || self.request.model().unwrap_or_default();
        Plan::Answer(match fault {
            Fault::RateLimitedSeconds => limited().header("retry-after", seconds.to_string()),
            Fault::RateLimitedDate => limited().header("retry-after", http_date(seconds)),
            Fault::RateLimited => limited(),
            Fault::ServerError => self.refuse(&Problem::Server),
            Fault::Unavailable => self.refuse(&Problem::Unavailable),
            Fault::Overloaded => self.refuse(&Problem::Overloaded),
            Fault::SchemaRefused => self.refuse(&Problem::Schema(tool())),
            Fault::ToolRefused => self.refuse(&Problem::Tool(tool())),
            Fault::Unauthorized => self.refuse(&Problem::Unauthorized),
            Fault::UnknownModel => self.refuse(&Problem::UnknownModel(model())),
            Fault::ContextLength => self.refuse(&Problem::ContextLength),
            Fault::ConnectionRefused | Fault::ClosedBeforeHeaders => return Plan::Close,
            Fault::HangBeforeHeaders => return Plan::Hang,
            Fault::Html => Answer::whole(200, "text/html", PAGE),
            Fault::HtmlBadGateway => Answer::whole(502, "text/html", PAGE),
            Fault::EmptyBody => Answer::whole(200, JSON, ""),
            Fault::GzipGarbage => {
                // The two bytes that begin every gzip file, and nothing of it after them.
                let body = b"\x1f\x8bthis was never compressed".as_slice();
                Answer::whole(200, JSON, body).header("content-encoding", "gzip")
            }
            Fault::Redirect => {
                let location = format!("{}{}", self.elsewhere, self.request.path);
                Answer::whole(307, "text/plain", "moved").header("location", location)
            }
            Fault::WrongContentType => {
                let mut answer = self.reply(reply, step);
                answer.set_content_type("text/plain");
                answer
            }
            Fault::Trickle => Answer { pace: Some(PACE), ..self.reply(reply, step) },
            Fault::ContentLengthTooLong => {
                let mut answer = self.reply(reply, step);
                answer.length = Length::TooLong(answer.bytes() + 100);
                answer
            }
            Fault::ContentLengthTooShort => {
                let mut answer = self.reply(reply, step);
                answer.length = Length::TooShort(answer.bytes() / 2);
                answer
            }
            Fault::ClosedInChunk
            | Fault::ClosedInArguments
            | Fault::NoTerminalEvent
            | Fault::MalformedJson
            | Fault::ErrorEvent
            | Fault::HangAfterFirstChunk
            | Fault::OversizeLine => self.spoiled(fault, reply, step),
        })
    }

    /// A body that goes wrong on its way.
    fn spoiled(&self, fault: Fault, reply: &Reply, step: &Step) -> Answer {
        if !self.is_streamed() {
            return self.spoiled_whole(fault, reply, step);
        }
        let mut frames = self.frames(reply, step);
        let first = frames.iter().position(|frame| frame.kind == FrameKind::Content).unwrap_or(0);
        let call = frames.iter().position(|frame| frame.kind == FrameKind::Arguments).unwrap_or(first);
        match fault {
            Fault::NoTerminalEvent => {
                frames.retain(|frame| !matches!(frame.kind, FrameKind::Finish | FrameKind::Done));
                let mut answer = self.stream_of(&frames, step);
                self.drop_list_end(&mut answer);
                answer
            }
            Fault::MalformedJson => {
                if let Some(frame) = frames.get_mut(first) {
                    frame.data.truncate(floor_half(&frame.data));
                }
                self.stream_of(&frames, step)
            }
            Fault::ErrorEvent => {
                frames.truncate(first + 1);
                let data = stream_error(self.wire(), self.form, frames.len());
                frames.push(match self.form {
                    Form::Messages | Form::Responses | Form::Cohere => Frame::typed(FrameKind::Finish, &data),
                    Form::Converse => Frame::exception(exception(&Problem::Server), &data),
                    _ => Frame::new(FrameKind::Finish, &data),
                });
                self.stream_of(&frames, step)
            }
            Fault::ClosedInArguments => {
                frames.truncate(call + 1);
                let mut answer = self.stream_of(&frames, step);
                if let Some(last) = answer.chunks.last_mut() {
                    last.truncate(last.len() / 2);
                }
                Answer { end: End::Close, ..answer }
            }
            Fault::HangAfterFirstChunk => {
                frames.truncate(1);
                let mut answer = self.stream_of(&frames, step);
                self.drop_list_end(&mut answer);
                Answer { end: End::Hang, ..answer }
            }
            Fault::OversizeLine => {
                frames.truncate(first + 1);
                let mut answer = self.stream_of(&frames, step);
                if let Some(last) = answer.chunks.last_mut() {
                    last.truncate(last.len() / 2);
                }
                Answer { filler: OVERSIZE, end: End::Close, ..answer }
            }
            _ => {
                frames.truncate(first + 1);
                Answer { end: End::CutChunk, ..self.stream_of(&frames, step) }
            }
        }
    }

    fn spoiled_whole(&self, fault: Fault, reply: &Reply, step: &Step) -> Answer {
        let mut answer = self.reply(reply, step);
        let length = answer.bytes();
        let half = |answer: &mut Answer| {
            for chunk in &mut answer.chunks {
                chunk.truncate(length / 2);
            }
        };
        match fault {
            // The body says that it is complete, and is not.
            Fault::NoTerminalEvent | Fault::MalformedJson => half(&mut answer),
            Fault::ErrorEvent => {
                let (_, body) = error(self.wire(), self.form, &Problem::Server);
                answer.chunks = vec![body.to_string().into_bytes()];
            }
            Fault::HangAfterFirstChunk => {
                half(&mut answer);
                (answer.length, answer.end) = (Length::TooLong(length), End::Hang);
            }
            Fault::OversizeLine => {
                half(&mut answer);
                (answer.length, answer.filler, answer.end) = (Length::Chunked, OVERSIZE, End::Close);
            }
            _ => {
                half(&mut answer);
                (answer.length, answer.end) = (Length::TooLong(length), End::Close);
            }
        }
        answer
    }

    /// A list that does not end is one of the things that a reader must notice.
    fn drop_list_end(&self, answer: &mut Answer) {
        let end = self.encoding().end();
        if let Some(last) = answer.chunks.last_mut().filter(|last| !end.is_empty() && last.ends_with(end)) {
            last.truncate(last.len() - end.len());
        }
    }
}

/// The middle of a text, where it can be cut.
fn floor_half(text: &str) -> usize {
    (0..=text.len() / 2).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// The date so many seconds from now, as HTTP has it.
fn http_date(seconds: u64) -> String {
    let later = Timestamp::now() + SignedDuration::from_secs(i64::try_from(seconds).unwrap_or(i64::MAX / 4));
    later.to_zoned(TimeZone::UTC).strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()
}
