//! Puts a tree together from what a reader meets, without recursion, within bounds.

use std::collections::HashMap;

use super::{Document, Fault, Name, Node, Spot, Tree};

/// The most levels of a document; what can be written needs seven.
const MOST_LEVELS: usize = 16;
/// The most values of a document, those of anchors counted wherever they are referred to.
const MOST_VALUES: usize = 20_000;

/// A tree that grows.
#[derive(Default)]
pub(super) struct Build {
    open: Vec<Open>,
    root: Option<Node>,
    values: usize,
    faults: Vec<Fault>,
    /// Finished values that can be referred to, and how many values each is.
    anchors: HashMap<usize, (Node, usize)>,
}

/// A list or map that has begun.
struct Open {
    tree: Tree,
    spot: Spot,
    key: Option<Name>,
    anchor: usize,
    /// How many values there were before.
    before: usize,
}

impl Build {
    /// A list or map begins.
    pub(super) fn begin(&mut self, tree: Tree, spot: Spot, anchor: usize) -> Result<(), Fault> {
        if self.open.len() >= MOST_LEVELS {
            let fix = format!("{MOST_LEVELS} levels are the most");
            return Err(Fault::new(spot, "this is nested too deep", fix));
        }
        self.no_key(spot)?;
        self.open.push(Open { tree, spot, key: None, anchor, before: self.values });
        self.count(1, spot)
    }

    /// The list or map that began last ends.
    pub(super) fn end(&mut self, last_line: usize) -> Result<(), Fault> {
        let Some(Open { tree, spot, anchor, before, .. }) = self.open.pop() else { return Ok(()) };
        let node = Node { tree, spot, last_line };
        self.remember(anchor, &node, self.values - before);
        self.place(node)
    }

    /// A value that is neither.
    pub(super) fn scalar(&mut self, node: Node, anchor: usize) -> Result<(), Fault> {
        self.count(1, node.spot)?;
        self.remember(anchor, &node, 1);
        self.place(node)
    }

    /// A value that stood somewhere before.
    pub(super) fn again(&mut self, anchor: usize, spot: Spot) -> Result<(), Fault> {
        let Some((node, values)) = self.anchors.get(&anchor).cloned() else {
            return Err(Fault::new(spot, "this refers to what it is a part of", "write it out"));
        };
        self.count(values, spot)?;
        self.place(Node { spot, last_line: spot.line, ..node })
    }

    /// The whole.
    pub(super) fn done(self) -> Option<Document> {
        self.root.map(|root| Document { root, faults: self.faults })
    }

    /// Whether there is something already.
    pub(super) fn is_full(&self) -> bool {
        self.root.is_some()
    }

    fn remember(&mut self, anchor: usize, node: &Node, values: usize) {
        if anchor != 0 {
            self.anchors.insert(anchor, (node.clone(), values));
        }
    }

    fn count(&mut self, values: usize, spot: Spot) -> Result<(), Fault> {
        self.values = self.values.saturating_add(values);
        if self.values > MOST_VALUES {
            let fix = format!("{MOST_VALUES} are the most, each reference to an anchor counted in full");
            return Err(Fault::new(spot, "there are too many values", fix));
        }
        Ok(())
    }

    /// Lists and maps are no names.
    fn no_key(&self, spot: Spot) -> Result<(), Fault> {
        match self.open.last() {
            Some(Open { tree: Tree::Map(_), key: None, .. }) => Err(Fault::new(
                spot,
                "this stands where a key is expected",
                "write a name, a colon and a value",
            )),
            _ => Ok(()),
        }
    }

    fn place(&mut self, node: Node) -> Result<(), Fault> {
        let Some(open) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        match (&mut open.tree, open.key.take()) {
            (Tree::Map(entries), Some(name)) => {
                match entries.iter().find(|(known, _)| known.text == name.text) {
                    Some((known, _)) => {
                        let (twice, line) = (&name.text, known.spot.line);
                        let message = format!("`{twice}` stands twice, first in line {line}");
                        self.faults.push(Fault::new(name.spot, message, "remove one of both"));
                    }
                    None => entries.push((name, node)),
                }
            }
            (Tree::Map(_), None) => match node.tree {
                Tree::Scalar { text, .. } => open.key = Some(Name { text, spot: node.spot }),
                _ => return self.no_key(node.spot),
            },
            (Tree::List(items), _) => items.push(node),
            (Tree::Null | Tree::Scalar { .. }, _) => {}
        }
        Ok(())
    }
}
