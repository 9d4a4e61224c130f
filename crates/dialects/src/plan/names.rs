//! The names that the model saw.

use gateway_notation::pointer;

use super::{Codec, Plan, Rest};

impl Plan {
    /// A pointer into MCP arguments as a pointer into the dialect's arguments.
    pub fn wire_pointer(&self, pointer: &str) -> String {
        let mut shown = String::new();
        let mut codec = &self.root;
        for name in pointer::steps(pointer) {
            let (wire, inner) = self.step(codec, &name);
            pointer::push(&mut shown, &wire);
            codec = inner;
        }
        shown
    }

    fn step<'p>(&'p self, codec: &'p Codec, name: &str) -> (String, &'p Codec) {
        // The names of all alternatives agree wherever they share a key.
        if let Some(declared) = self.declared(codec, name, 9) {
            return declared;
        }
        match codec {
            Codec::Object(object) => match &object.rest {
                Rest::Carrier { wire, entries, .. } => (format!("{wire}/{name}"), &entries.value),
                Rest::Each(each) => (object.escaped(name), each),
                Rest::Same => (object.escaped(name), &Codec::Same),
            },
            Codec::List(item) => (name.to_owned(), item),
            Codec::Tuple(tuple) => (name.to_owned(), tuple.at(name.parse().unwrap_or(usize::MAX))),
            Codec::Entries(entries) => (name.to_owned(), &entries.value),
            Codec::SpelledNull(inner) => self.step(inner, name),
            Codec::Definition(index) => match self.definitions.get(*index) {
                Some(codec) => self.step(codec, name),
                None => (name.to_owned(), &Codec::Same),
            },
            Codec::Same
            | Codec::Union(_)
            | Codec::Labels(_)
            | Codec::Text
            | Codec::Containers
            | Codec::LooseText(_)
            | Codec::Anything => (name.to_owned(), &Codec::Same),
        }
    }

    /// The property `name` of an object, also behind definitions and alternatives.
    fn declared<'p>(&'p self, codec: &'p Codec, name: &str, levels: usize) -> Option<(String, &'p Codec)> {
        let levels = levels.checked_sub(1)?;
        match codec {
            Codec::Object(object) => {
                let property = object.properties.iter().find(|property| *property.mcp == *name)?;
                Some((property.wire.to_string(), &property.codec))
            }
            Codec::Definition(index) => self.declared(self.definitions.get(*index)?, name, levels),
            Codec::SpelledNull(inner) => self.declared(inner, name, levels),
            Codec::Union(branches) => {
                branches.iter().find_map(|branch| self.declared(&branch.codec, name, levels))
            }
            Codec::Same
            | Codec::List(_)
            | Codec::Tuple(_)
            | Codec::Entries(_)
            | Codec::Labels(_)
            | Codec::Text
            | Codec::Containers
            | Codec::LooseText(_)
            | Codec::Anything => None,
        }
    }
}
