//! Which dialect a model id asks for.

/// What a model id chooses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The dialect's name.
    pub dialect: String,
    /// The layer on top of it, if the model's family has one.
    pub layer: Option<String>,
}

/// Whether the layer of a model's family applies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Compat {
    /// The one that the model id chooses.
    #[default]
    Auto,
    /// None.
    Off,
    /// This one.
    Named(String),
}
