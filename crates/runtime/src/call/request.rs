//! Requests that are no calls of tools: reading a resource, taking a prompt. They are in the log too.

use gateway_protocol::{RawJson, method};
use gateway_store::Outcome;
use gateway_upstream::{CallError, FREE_BYTES, UpstreamId};

use super::entry::{Entry, Subject, begun};
use super::{CallResult, Origin};
use crate::Runtime;
use crate::context::RequestContext;
use crate::failure::{Failure, code};

impl Runtime {
    /// Sends a request that is no call of a tool, such as reading a resource, and writes it to the log, however it ends. Its
    /// entry has the method instead of a tool's name.
    pub async fn run_request(
        &self,
        (server, method): (&UpstreamId, &'static str),
        input: &RawJson,
        context: &RequestContext,
        origin: &Origin,
        answering: impl Future<Output = Result<RawJson, CallError>>,
    ) -> Result<CallResult, Failure> {
        let permit = self.reserve().await?;
        let record = begun(server.to_shared(), method.into(), input, context, origin);
        let mut entry = Entry::begin(self, record, Subject::Request, permit);
        let result = answering.await.map_err(|error| entry.fail(Failure::Call(error)))?;
        let done = CallResult::fresh(result);
        if done.result.len() > FREE_BYTES {
            Box::pin(entry.hold(&done, context)).await?;
        }
        entry.finish_with(&done);
        Ok(done)
    }

    /// Writes a request to the log that leads to no server. It must not go unrecorded either.
    pub async fn record_missing(
        &self,
        asked: &'static str,
        input: &RawJson,
        context: &RequestContext,
        origin: &Origin,
        message: &str,
    ) -> Result<(), Failure> {
        let permit = self.reserve().await?;
        let mut record = begun("".into(), asked.into(), input, context, origin);
        let code = if asked == method::READ_RESOURCE { code::RESOURCE_NOT_FOUND } else { code::NOT_FOUND };
        record.outcome = Outcome::error(message, code);
        permit.record(record);
        Ok(())
    }
}
