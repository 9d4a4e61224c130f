//! Whether a call may run: the policy is asked, and whoever has to decide.

use gateway_config::{ApprovalConfig, Approver};
use gateway_dialects::arguments::render_issues;
use gateway_notation::pointer;
use gateway_protocol::{RawJson, method};
use gateway_upstream::{Approval, CallOptions, CatalogueTool, Responder, UpstreamId};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout, timeout_at};

use super::{Call, PLAIN};
use crate::Runtime;
use crate::approval_handler::{ApprovalHandler, ApprovalQuestion, Decision};
use crate::approvals::{Full, Verdict, policy, prompt, shown};
use crate::context::RequestContext;
use crate::failure::{Failure, code};

/// Why a call may not run that nobody is asked about.
const BY_POLICY: &str = "the gateway's policy denies it";

impl Runtime {
    /// Whether a call may run; waits until somebody has decided, where somebody has to.
    pub(super) async fn approved(&self, call: Call<'_>, options: &CallOptions) -> Result<(), Failure> {
        self.check_parameters(call)?;
        let Call { tool, arguments, context, origin, .. } = call;
        let config = &*self.approval();
        match policy(config, tool) {
            Approval::Allow => Ok(()),
            Approval::Deny => Err(denied(tool, BY_POLICY)),
            Approval::Ask
                if !options.params.is_empty()
                    && self.approvals().is_answer(tool, arguments, context, config) =>
            {
                Ok(())
            }
            Approval::Ask => {
                // A program that calls over plain HTTP would only ask itself.
                let may_ask_caller = origin.transport != PLAIN && config.approver == Approver::Caller;
                let answer = match (&context.approver, &options.responder) {
                    (Some(handler), _) => Some(ask_handler(handler.as_ref(), tool, arguments).await),
                    (None, Some(responder)) if may_ask_caller => {
                        self.ask_caller(responder, tool, arguments).await
                    }
                    (None, Some(_) | None) => None,
                };
                match answer {
                    Some(outcome) => outcome?,
                    None => self.wait_for_admin(tool, arguments, context, config).await?,
                }
                // The configuration may have changed while somebody decided.
                match policy(&self.approval(), tool) {
                    Approval::Deny => Err(denied(tool, BY_POLICY)),
                    Approval::Allow | Approval::Ask => Ok(()),
                }
            }
        }
    }

    /// Whether the arguments fit where no server looks: hidden parameters, and tools of the registry.
    fn check_parameters(&self, call: Call<'_>) -> Result<(), Failure> {
        let Call { tool, arguments, .. } = call;
        if let Some(name) = tool.hidden_parameter(arguments) {
            return Err(Failure::Arguments(format!(
                "the tool `{}` has no parameter \"{name}\"; leave it out",
                tool.name
            )));
        }
        if tool.registered {
            let validator = self.validators().get(&self.fleet().catalogue(), tool);
            if let Some(fault) = validator.unchecked() {
                let message = format!(
                    "The tool `{}` cannot be called: its inputSchema cannot be checked at `{}`: {}",
                    tool.name, fault.path, fault.reason
                );
                return Err(Failure::Refused { code: code::TOOL_DENIED, message, approval: None });
            }
            if !call.is_checked {
                let value: Value = arguments.read().map_err(|error| Failure::Request(error.to_string()))?;
                if !validator.is_valid(&value) {
                    let issues = render_issues(&validator.validate(&value), &pointer::dotted);
                    return Err(Failure::Arguments(issues));
                }
            }
        }
        Ok(())
    }

    /// Whether only people can let a call through.
    pub fn needs_approval(&self, tool: &CatalogueTool) -> bool {
        policy(&self.approval(), tool) == Approval::Ask
    }

    /// Whether a server that stands in for another one offers its tool, and the policy lets it run.
    pub fn may_stand_in(&self, other: &UpstreamId, tool: &CatalogueTool) -> bool {
        let catalogue = self.fleet().catalogue();
        let there = catalogue.get(other.as_str(), &tool.name);
        there.is_some_and(|there| policy(&self.approval(), there) == Approval::Allow)
    }

    /// Asks whoever calls; `None` if it cannot be asked.
    async fn ask_caller(
        &self,
        responder: &Responder,
        tool: &CatalogueTool,
        arguments: &RawJson,
    ) -> Option<Result<(), Failure>> {
        let (arguments, is_whole) = shown(arguments);
        if !is_whole {
            return None;
        }
        let message = prompt(tool.server.as_str(), &tool.name, &arguments);
        let params = json!({
            "message": message,
            "requestedSchema": {
                "type": "object",
                "properties": {"decision": {"type": "string", "title": "Decision", "enum": ["approve", "deny"]}},
                "required": ["decision"],
            },
        });
        let params = RawJson::of(&params).ok()?;
        let asking = responder.put(method::ELICIT, params);
        let answer = match timeout(self.config().mcp.input_expiry, asking).await {
            Ok(Ok(answer)) => answer.read::<Value>().unwrap_or_default(),
            Ok(Err(_)) => return None,
            Err(_) => return Some(Err(required(tool, "it was not given in time", None))),
        };
        let is_approved = answer.get("action") == Some(&json!("accept"))
            && answer.pointer("/content/decision") == Some(&json!("approve"));
        Some(if is_approved { Ok(()) } else { Err(denied(tool, "the user did not approve it")) })
    }

    async fn wait_for_admin(
        &self,
        tool: &CatalogueTool,
        arguments: &RawJson,
        context: &RequestContext,
        config: &ApprovalConfig,
    ) -> Result<(), Failure> {
        if self.config().admin_keys.is_empty() {
            let why = match config.approver {
                Approver::Caller => {
                    "nobody can give it: the caller cannot be asked, and no admin key is configured"
                }
                Approver::Admin => "nobody can give it: only an admin may, and no admin key is configured",
            };
            return Err(required(tool, why, None));
        }
        let until = Instant::now() + config.wait;
        loop {
            let (id, mut verdict) = match self.approvals().enter(tool, arguments, context, config) {
                Ok(entered) => entered,
                Err(Full::All) => return Err(required(tool, "too many calls wait for it already", None)),
                Err(Full::Share(share)) => return Err(too_many(tool, share)),
            };
            let deciding = verdict.wait_for(|verdict| *verdict != Verdict::Open);
            let decided = timeout_at(until, deciding).await.map(|outcome| outcome.map(|verdict| *verdict));
            match decided {
                Ok(Ok(Verdict::Approved)) if self.approvals().take(&id) => return Ok(()),
                // Another call like this one has used it up.
                Ok(Ok(Verdict::Approved | Verdict::Open)) => {}
                Ok(Ok(Verdict::Denied)) => return Err(denied(tool, "an operator denied it")),
                Ok(Err(_)) => return Err(required(tool, "nobody gave it", None)),
                Err(_) => {
                    let why = format!(
                        "it was not given within {:?}. It can still be given under the id `{id}`; the same call runs then",
                        config.wait
                    );
                    return Err(required(tool, &why, Some(id)));
                }
            }
        }
    }
}

/// Asks whoever decides about the calls of this request.
async fn ask_handler(
    handler: &dyn ApprovalHandler,
    tool: &CatalogueTool,
    arguments: &RawJson,
) -> Result<(), Failure> {
    let (arguments, is_whole) = shown(arguments);
    if !is_whole {
        return Err(denied(tool, "its arguments are too long to be shown to whoever has to approve it"));
    }
    let (server, name) = (tool.server.to_string(), tool.name.clone());
    let display = prompt(&server, &name, &arguments);
    match handler.decide(ApprovalQuestion { server, tool: name, display }).await {
        Decision::Approved => Ok(()),
        Decision::Denied(why) => Err(denied(tool, why)),
    }
}

fn denied(tool: &CatalogueTool, why: &str) -> Failure {
    let message = format!("The tool `{}` may not be called: {why}. Do not call it again.", tool.name);
    Failure::Refused { code: code::TOOL_DENIED, message, approval: None }
}

fn required(tool: &CatalogueTool, why: &str, approval: Option<String>) -> Failure {
    let message = format!("The tool `{}` needs approval, and {why}.", tool.name);
    Failure::Refused { code: code::APPROVAL_REQUIRED, message, approval }
}

fn too_many(tool: &CatalogueTool, share: usize) -> Failure {
    Failure::TooMany(format!(
        "The tool `{}` needs approval, and {share} calls of this caller wait for approval already, which is the most for one \
         caller; call it again once some of them are decided.",
        tool.name
    ))
}
