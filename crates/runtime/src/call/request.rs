//! Requests that are no calls of tools: reading a resource, taking a prompt. They are in the log too.

use gateway_protocol::RawJson;
use gateway_protocol::method::READ_RESOURCE;
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
        let result = match answering.await {
            Ok(result) => result,
            Err(error) if method == READ_RESOURCE && error.is_unknown_resource() => {
                return Err(entry.fail_as(Failure::Call(error), code::RESOURCE_NOT_FOUND));
            }
            Err(error) => return Err(entry.fail(Failure::Call(error))),
        };
        let done = CallResult::fresh(result);
        if done.result.len() > FREE_BYTES {
            Box::pin(entry.hold(&done, context)).await?;
        }
        entry.finish_with(&done);
        Ok(done)
    }

    /// Writes a request to the log that leads to no server, with the code and the words of why. It must not go unrecorded either.
    pub async fn record_missing(
        &self,
        method: &'static str,
        input: &RawJson,
        context: &RequestContext,
        origin: &Origin,
        (code, message): (&'static str, &str),
    ) -> Result<(), Failure> {
        let permit = self.reserve().await?;
        let mut record = begun("".into(), method.into(), input, context, origin);
        record.outcome = Outcome::error(message, code);
        permit.record(record);
        Ok(())
    }
}
