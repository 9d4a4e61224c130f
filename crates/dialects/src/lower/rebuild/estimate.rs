//! Estimating how far references can be written out.
//!
//! An attempt that turns out too large is wasted, and it takes thirty times as long as counting what it would write. The count
//! leaves out what may not be written after all, so it hardly ever exceeds what an attempt would write; where it does, a
//! recursion travels as JSON text one level earlier.

use serde_json::Value;

use super::Rebuild;
use super::union::MOST_BRANCHES;
use crate::schema::Members;

impl<'a> Rebuild<'a, '_> {
    /// Shortens the reach as long as an attempt would certainly be too large.
    pub(super) fn estimate_reach(&mut self) {
        loop {
            let mut left = self.room + 1;
            self.count_inside(self.root, 0, &mut left);
            let shorter = self.chain.shorter().filter(|_| left == 0);
            self.chain.longest = 0;
            let Some(shorter) = shorter else { return };
            self.chain.reach = shorter;
        }
    }

    /// Takes one position and those inside it from what is `left`.
    fn count(&mut self, schema: &'a Value, resource: usize, left: &mut usize) {
        *left = left.saturating_sub(1);
        if *left == 0 || self.depth >= super::DEEPEST {
            return;
        }
        self.depth += 1;
        let mark = self.chain.len();
        if let Some((schema, resource)) = self.behind(schema, resource) {
            self.count_inside(schema, resource, left);
        }
        self.chain.truncate(mark);
        self.depth -= 1;
    }

    /// What stands where `schema` is, and its resource; `None` where a reference is not written out.
    fn behind(&mut self, mut schema: &'a Value, mut resource: usize) -> Option<(&'a Value, usize)> {
        while let Some(Value::String(reference)) = schema.member("$ref") {
            let from = self.resolver.resource_of(schema, resource);
            let target = self.resolve(reference, from)?;
            if !self.chain.follow(target.schema) {
                return None;
            }
            (schema, resource) = (target.schema, target.resource);
        }
        Some((schema, resource))
    }

    fn count_inside(&mut self, schema: &'a Value, resource: usize, left: &mut usize) {
        let Value::Object(map) = schema else { return };
        if map.has("enum") || map.has("const") {
            return;
        }
        let resource = self.resolver.resource_of(schema, resource);
        if let Some(Value::Object(properties)) = map.member("properties") {
            for child in properties.values().filter(|child| child.is_object()) {
                self.count(child, resource, left);
            }
        } else if let Some(Value::Array(branches)) = map.member("anyOf").or_else(|| map.member("oneOf"))
            && branches.len() <= MOST_BRANCHES
            && self.depth > 0
        {
            for branch in branches {
                self.count(branch, resource, left);
            }
        }
        if let Some(items @ Value::Object(_)) = map.member("items") {
            self.count(items, resource, left);
        }
    }
}
