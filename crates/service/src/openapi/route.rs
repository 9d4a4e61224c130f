//! What is said about one route.

use gateway_mcp::Operation;
use http::Method;

/// What a route does. Every action has a handler, so a row of the table without one does not compile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Action {
    Tools,
    Render,
    Context,
    Resources,
    ReadResource,
    Execute,
    CallTool,
    Mcp(Operation),
    Convert,
    Transform,
    History,
    Check,
    Providers,
    Detect,
    Provider,
    Logs,
    Servers,
    ConnectServer,
    RestartServer,
    AcceptServer,
    Health,
    Live,
    Ready,
    Metrics,
    MetricsText,
    Document,
    Page,
    Root,
    Route,
    Registry,
    RegisterTool,
    UnregisterTool,
    Approvals,
    Approve,
    #[cfg(feature = "agent")]
    Completions,
    #[cfg(feature = "agent")]
    Models,
    #[cfg(feature = "agent")]
    Model,
    #[cfg(feature = "agent")]
    KeptResult,
    #[cfg(feature = "agent")]
    CreateConversation,
    #[cfg(feature = "agent")]
    Conversations,
    #[cfg(feature = "agent")]
    Conversation,
    #[cfg(feature = "agent")]
    RenameConversation,
    #[cfg(feature = "agent")]
    DeleteConversation,
    #[cfg(feature = "agent")]
    Chat,
    #[cfg(feature = "agent")]
    ConversationCalls,
}

impl Action {
    /// Whether its answers hold results of servers.
    pub(crate) fn returns_server_results(self) -> bool {
        matches!(
            self,
            Self::CallTool | Self::Execute | Self::Route | Self::ReadResource | Self::Mcp(Operation::Post)
        )
    }
}

/// The method of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    Get,
    Post,
    Put,
    #[cfg_attr(not(feature = "agent"), expect(dead_code, reason = "only the agent has such a route"))]
    Patch,
    Delete,
}

impl Verb {
    /// The word in a request's first line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }

    /// Whether a request with this method is meant; `HEAD` is `GET` without the body.
    pub(crate) fn takes(self, method: &Method) -> bool {
        match self {
            Self::Get => *method == Method::GET || *method == Method::HEAD,
            Self::Post => *method == Method::POST,
            Self::Put => *method == Method::PUT,
            Self::Patch => *method == Method::PATCH,
            Self::Delete => *method == Method::DELETE,
        }
    }
}

/// Who may ask, where keys are configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// Owners of a key.
    Key,
    /// Owners of an admin key, which has to be configured.
    Admin,
    /// Owners of an admin key where one is configured, else owners of a key.
    Operator,
    /// Everybody. A caller without a key sees no details.
    Open,
}

/// Whether the bounds on load apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Load {
    /// Counts as a request at work.
    Counted,
    /// Answers also when the gateway is full, so that operators see why.
    Exempt,
}

/// One route.
#[derive(Debug)]
pub(crate) struct Route {
    pub(crate) action: Action,
    pub(crate) verb: Verb,
    /// The pattern, with parameters in braces.
    pub(crate) path: &'static str,
    pub(crate) tag: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) description: &'static str,
    pub(crate) access: Access,
    pub(crate) load: Load,
    /// Its own parameters, and those that it shares with others.
    pub(crate) parameters: [&'static [Parameter]; 2],
    pub(crate) body: Option<Body>,
    /// Its own answers, and those that it shares with others.
    pub(crate) answers: [&'static [Answer]; 2],
}

/// A route for everybody with a key, without a body.
pub(super) const fn route(
    verb: Verb,
    path: &'static str,
    action: Action,
    tag: &'static str,
    summary: &'static str,
) -> Route {
    let (access, load) = (Access::Key, Load::Counted);
    let (parameters, body, answers): (_, _, [&[Answer]; 2]) = ([&[] as &[Parameter]; 2], None, [&[]; 2]);
    Route { action, verb, path, tag, summary, description: "", access, load, parameters, body, answers }
}

impl Route {
    pub(super) const fn described(self, description: &'static str) -> Self {
        Self { description, ..self }
    }

    pub(super) const fn access(self, access: Access) -> Self {
        Self { access, ..self }
    }

    pub(super) const fn exempt(self) -> Self {
        Self { load: Load::Exempt, ..self }
    }

    /// For everybody, at any time.
    pub(super) const fn open(self) -> Self {
        self.access(Access::Open).exempt()
    }

    pub(super) const fn parameters(self, own: &'static [Parameter]) -> Self {
        Self { parameters: [own, self.parameters[1]], ..self }
    }

    pub(super) const fn shared_parameters(self, shared: &'static [Parameter]) -> Self {
        Self { parameters: [self.parameters[0], shared], ..self }
    }

    /// `schema` is the name of one among the components; `examples` are named JSON texts.
    pub(super) const fn body(
        self,
        schema: &'static str,
        examples: &'static [(&'static str, &'static str)],
    ) -> Self {
        Self { body: Some(Body { schema, examples }), ..self }
    }

    pub(super) const fn answers(self, own: &'static [Answer]) -> Self {
        Self { answers: [own, self.answers[1]], ..self }
    }

    pub(super) const fn shared_answers(self, shared: &'static [Answer]) -> Self {
        Self { answers: [self.answers[0], shared], ..self }
    }
}

/// Where a parameter is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Location {
    Path,
    Query,
    Header,
}

/// One parameter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parameter {
    pub(crate) name: &'static str,
    pub(crate) location: Location,
    pub(crate) kind: Kind,
    pub(crate) description: &'static str,
}

/// What a parameter looks like.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Text,
    Flag,
    Moment,
    Number {
        least: u64,
        most: u64,
        usual: Option<u64>,
    },
    Words(&'static [&'static str]),
    /// Several texts, repeated or separated by commas.
    Texts,
}

/// The body of a request.
#[derive(Debug)]
pub(crate) struct Body {
    /// The name of its schema among the components.
    pub(crate) schema: &'static str,
    /// Named examples, as JSON texts.
    pub(crate) examples: &'static [(&'static str, &'static str)],
}

/// One answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) description: &'static str,
    pub(crate) content: Content,
}

/// What an answer carries.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Content {
    Nothing,
    /// A schema among the components, with an example as JSON text where one helps.
    Json(&'static str, Option<&'static str>),
    /// Another media type.
    Media(&'static str),
    /// JSON or another media type, as the caller asks.
    JsonOr(&'static str, &'static str),
    /// JSON with an example, or a stream of events with another.
    JsonOrEvents {
        schema: &'static str,
        json: &'static str,
        events: &'static str,
    },
    /// The error shape; the words that `code` may have.
    Error(&'static [&'static str]),
}
