//! Requests that are no calls of tools: reading a resource, taking a prompt. They are in the log too.

use gateway_protocol::RawJson;
use gateway_store::Outcome;
use gateway_upstream::{CallError, UpstreamId};

use super::{Done, Entry, Origin, begun};
use crate::errors::code;
use crate::runtime::context::RequestContext;
use crate::runtime::failure::Failure;
use crate::runtime::gateway::Gateway;

/// What an entry is about.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Subject {
    /// A call of a tool, which the figures count.
    Call,
    /// Another request.
    Request,
}

impl Gateway {
    /// Sends a request that is no call of a tool, such as reading a resource, and writes it to the log, however it ends. Its
    /// entry has the method in the place of a tool's name.
    pub(crate) async fn run_request(
        &self,
        (server, method): (&UpstreamId, &'static str),
        input: &RawJson,
        context: &RequestContext,
        origin: &Origin,
        answering: impl Future<Output = Result<RawJson, CallError>>,
    ) -> Result<Done, Failure> {
        let permit = self.reserve().await.map_err(|error| Failure::NoRoom(error.message))?;
        let record = begun(server.to_shared(), method.into(), input, context, origin);
        let mut entry = Entry::begin(self, record, Subject::Request, permit);
        match answering.await {
            Ok(result) => self.handed_over(Done::fresh(result), context, server, &mut entry).await,
            Err(error) => {
                let failure = Failure::Call(error);
                entry.finish(Outcome::error(failure.message(), failure.code()), Some(failure.code()));
                Err(failure)
            }
        }
    }

    /// Writes a request to the log that leads to no server. It must not go unrecorded either.
    pub(crate) async fn record_missing(
        &self,
        method: &'static str,
        input: &RawJson,
        context: &RequestContext,
        origin: &Origin,
        message: &str,
    ) -> Result<(), Failure> {
        let permit = self.reserve().await.map_err(|error| Failure::NoRoom(error.message))?;
        let mut record = begun("".into(), method.into(), input, context, origin);
        record.outcome = Outcome::error(message, code::NOT_FOUND);
        permit.record(record);
        Ok(())
    }
}
