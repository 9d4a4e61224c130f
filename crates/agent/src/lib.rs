//! Asks models, runs their calls, and goes on until they answer.
//!
//! **What it is.** The only crate that calls a model. [`Agent`] is the loop: model → calls → results → model, with bounds, over
//! any [`Model`] and any [`Toolbox`]. [`HttpModel`] asks the APIs of the configuration over plain HTTP, [`GatewayTools`] offers and runs
//! the tools of all servers. [`completions`] is the loop as a drop-in for Chat Completions, [`conversations`] keeps what is said.
//!
//! **What it is not.** It opens no connection to an MCP server and runs no tool by itself: each call goes the one way of the
//! runtime. It listens nowhere and chooses no status code.
//!
//! ```
//! use std::sync::Arc;
//!
//! use gateway_agent::{Agent, AgentRequest, Limits, NoTools, ScriptedModel};
//! use gateway_dialects::stream::StreamEvent;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let model = ScriptedModel::new([vec![StreamEvent::Text("Hello!".to_owned())]]);
//! let agent = Agent::new(vec![Arc::new(model)], Arc::new(NoTools), Limits::default());
//! let answer = agent.answer(AgentRequest::of_user("Say hello")).await?;
//! assert_eq!(answer.text, "Hello!");
//! # Ok(())
//! # }
//! ```

mod chat_dialect;
pub mod completions;
pub mod conversations;
mod error;
mod gateway_tools;
mod history;
mod http_model;
mod interrupted;
mod kept_results;
mod model;
mod models;
mod prompted;
mod run;
mod screening;
mod scripted;
mod store;
mod system_prompt;
mod toolbox;

pub use error::{AgentError, ModelError, ModelFailure};
pub use gateway_tools::{GatewayTools, ToolSelection};
pub use history::{History, from_chat, to_chat};
pub use http_model::HttpModel;
pub use interrupted::end_interrupted;
pub use kept_results::{KeptError, KeptResults, ResultPiece};
pub use model::{Answer, Ask, Model, ReplyEvents};
pub use models::discovery::{
    LocalServer, find_local_models, first_chat_model, local_servers_at, usual_local_servers,
};
pub use models::{ChosenModel, Models, UnknownModel};
pub use run::{Agent, AgentRequest, CallReport, Event, Finished, Journal, Limits, Stop};
pub use screening::{Face, FoundData, Part, Screen};
pub use scripted::ScriptedModel;
pub use store::Store;
pub use system_prompt::{default_system_prompt, with_system_prompt};
pub use toolbox::{NoTools, Offer, ToolOutcome, Toolbox, ToolsError};
