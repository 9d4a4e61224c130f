//! Finding the parts of a plan that do nothing.

use std::sync::Arc;

use super::{Codec, Plan, Rest};

impl Plan {
    /// The same plan without definitions that change nothing.
    pub(crate) fn simplified(mut self) -> Self {
        if self.definitions.is_empty() {
            return self;
        }
        let innocent = innocent(&self.definitions.iter().map(Some).collect::<Vec<_>>());
        clean(&mut self.root, &innocent);
        for codec in &mut self.definitions {
            clean(codec, &innocent);
        }
        self
    }
}

/// Which definitions change nothing; those that are not finished count as if they did.
pub(crate) fn innocent(definitions: &[Option<&Codec>]) -> Vec<bool> {
    // Definitions refer to each other: all are innocent until one is shown to do something.
    let mut innocent: Vec<bool> = definitions.iter().map(Option::is_some).collect();
    loop {
        let next: Vec<bool> = definitions
            .iter()
            .zip(&innocent)
            .map(|(codec, was)| *was && codec.is_some_and(|codec| does_nothing(codec, &innocent)))
            .collect();
        if next == innocent {
            return innocent;
        }
        innocent = next;
    }
}

pub(crate) fn does_nothing(codec: &Codec, innocent: &[bool]) -> bool {
    match codec {
        Codec::Same => true,
        Codec::Definition(index) => innocent.get(*index).copied().unwrap_or(false),
        Codec::List(item) => does_nothing(item, innocent),
        Codec::Tuple(tuple) => {
            tuple.positions.iter().chain([&tuple.rest]).all(|codec| does_nothing(codec, innocent))
        }
        Codec::Object(object) => {
            object.properties.iter().all(|property| {
                property.mcp == property.wire
                    && !property.null_is_absent
                    && does_nothing(&property.codec, innocent)
            }) && match &object.rest {
                Rest::Same => true,
                Rest::Each(codec) => does_nothing(codec, innocent),
                Rest::Carrier { .. } => false,
            }
        }
        Codec::Union(branches) => {
            branches.iter().all(|branch| branch.tag.is_none() && does_nothing(&branch.codec, innocent))
        }
        Codec::Entries(_)
        | Codec::Labels(_)
        | Codec::Text
        | Codec::Containers
        | Codec::LooseText(_)
        | Codec::Anything
        | Codec::SpelledNull(_) => false,
    }
}

fn clean(codec: &mut Codec, innocent: &[bool]) {
    if does_nothing(codec, innocent) {
        *codec = Codec::Same;
        return;
    }
    let part = |codec: &mut Codec| clean(codec, innocent);
    match codec {
        Codec::List(item) | Codec::SpelledNull(item) => part(item),
        Codec::Tuple(tuple) => tuple.positions.iter_mut().chain([&mut tuple.rest]).for_each(part),
        Codec::Object(object) => {
            let object = Arc::make_mut(object);
            object.properties.iter_mut().for_each(|property| part(&mut property.codec));
            match &mut object.rest {
                Rest::Same => {}
                Rest::Each(codec) => part(codec),
                Rest::Carrier { entries, .. } => part(&mut entries.value),
            }
        }
        Codec::Entries(entries) => part(&mut entries.value),
        Codec::Union(branches) => branches.iter_mut().for_each(|branch| part(&mut branch.codec)),
        Codec::Same
        | Codec::Labels(_)
        | Codec::Text
        | Codec::Containers
        | Codec::LooseText(_)
        | Codec::Anything
        | Codec::Definition(_) => {}
    }
}
