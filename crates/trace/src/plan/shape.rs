//! `plan.json`: one canonical document of one shape, and ids that are those of its content.

use std::collections::HashMap;
use std::fmt;

use probity_report::{Failures, pointer};

use super::rule::{
    EMPTY, JSON, KEY_MISSING, KEY_TWICE, KEY_UNKNOWN, KIND, LIMIT, NUMBER, STEP_KIND, SURROGATE,
    TYPE, UNCANONICAL, WRAPPED,
};
use super::{KINDS, Node, Plan, Request, place, place_of, word};
use crate::identity;
use crate::model::StepKind;
use crate::tape::{Broken, Fault, Kind, Spelling, Tape, Value};

/// A plan as the file has it.
pub(super) struct Read {
    pub(super) plan: Plan,
    /// From, to: empty in every plan of the source system.
    pub(super) edges: Vec<[String; 2]>,
}

/// Reads a plan. `None` where a value that it needs is not there.
pub(super) fn read(text: &str, failures: &mut Failures) -> Option<Read> {
    let body = text.strip_suffix('\n').unwrap_or_else(|| {
        failures.add(&UNCANONICAL, place(""), "the file does not end with a newline");
        text
    });
    let mut tape = Tape::default();
    match tape.read(body) {
        Ok(spelling) => tell_spelling(&spelling, body.len(), failures),
        Err(broken) => {
            tell_broken(broken, failures);
            return None;
        }
    }
    let mut reader = Reader { failures };
    reader.plan(tape.root(body))
}

fn tell_broken(broken: Broken, failures: &mut Failures) {
    let (rule, message) = match broken.fault {
        Fault::Syntax(expected) => (&JSON, format!("expected {expected}")),
        Fault::Number => (&NUMBER, "integers are at most 2^53 - 1 from zero".to_owned()),
        Fault::Surrogate => (&SURROGATE, SURROGATE.finds.to_owned()),
        Fault::TooDeep => (&LIMIT, "nested too deep".to_owned()),
        Fault::TooMany => (&LIMIT, "too many values".to_owned()),
    };
    failures.add(rule, place_of("", &(broken.at..broken.at.saturating_add(1))), message);
}

fn tell_spelling(spelling: &Spelling, length: usize, failures: &mut Failures) {
    let at = |byte: usize| place_of("", &(byte..byte.saturating_add(1).min(length.max(byte))));
    if let Some(departure) = spelling.uncanonical {
        failures.add(&UNCANONICAL, at(departure.at), departure.what);
    }
    for byte in &spelling.repeated {
        failures.add(&KEY_TWICE, at(*byte), KEY_TWICE.finds);
    }
}

/// The way to a value, spelled out only where it is told.
#[derive(Clone, Copy)]
enum Way<'w> {
    Plan,
    Key(&'w Way<'w>, &'w str),
    Item(&'w Way<'w>, usize),
}

impl fmt::Display for Way<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plan => Ok(()),
            Self::Key(way, key) => write!(f, "{way}{}", pointer(key)),
            Self::Item(way, at) => write!(f, "{way}/{at}"),
        }
    }
}

struct Reader<'f> {
    failures: &'f mut Failures,
}

impl Reader<'_> {
    fn plan(&mut self, root: Value) -> Option<Read> {
        let way = Way::Plan;
        if root.get("data").is_some() && root.get("canonical_version").is_some() {
            self.failures.add(&WRAPPED, place_of("", &root.span()), WRAPPED.finds);
            return None;
        }
        let keys = ["edges", "id", "nodes", "problem", "spec_id"];
        let [edges, id, nodes, problem, spec_id] = self.members(root, &way, keys)?;
        let id = self.text(id, &way, "id");
        let problem = self.text(problem, &way, "problem");
        let spec_id = self.text(spec_id, &way, "spec_id");
        let edges = self.list(edges, &way, "edges", Self::edge);
        let nodes_span = nodes.span();
        let nodes = self.list(nodes, &way, "nodes", Self::node);
        let mut plan = Plan {
            id: id?,
            problem: problem?,
            spec_id: spec_id?,
            nodes: nodes?,
            index: HashMap::new(),
        };
        if plan.nodes.is_empty() {
            self.failures.add(&EMPTY, place_of("/nodes", &nodes_span), EMPTY.finds);
        }
        if let Some((rule, right)) = identity::of_plan(&plan.id, root) {
            self.failures.differs(rule, place("/id"), right, &plan.id);
        }
        plan.index.reserve(plan.nodes.len());
        for (at, node) in plan.nodes.iter().enumerate() {
            plan.index.entry(node.id.clone()).or_insert(at);
        }
        Some(Read { plan, edges: edges? })
    }

    fn node(&mut self, value: Value, way: &Way) -> Option<Node> {
        let keys = ["dependencies", "id", "kind", "parameters", "step"];
        let [dependencies, id, kind, parameters, step] = self.members(value, way, keys)?;
        let id_span = id.span();
        let id = self.text(id, way, "id");
        let kind = self.kind(kind, way);
        let dependencies = self.list(dependencies, way, "dependencies", Self::item_text);
        let has_parameters = self.object(parameters, way, "parameters");
        let step_way = Way::Key(way, "step");
        let (step_kind, requests) = self.step(step, &step_way)?;
        has_parameters?;
        let node = Node { id: id?, kind: kind?, dependencies: dependencies?, requests };
        if step_kind != node.kind {
            let place = place(Way::Key(&step_way, "kind").to_string());
            self.failures.differs(&STEP_KIND, place, word(node.kind), word(step_kind));
        }
        if let Some((rule, right)) = identity::of_node(&node.id, value) {
            let place = place_of(Way::Key(way, "id").to_string(), &id_span);
            self.failures.differs(rule, place, right, &node.id);
        }
        Some(node)
    }

    fn step(&mut self, value: Value, way: &Way) -> Option<(StepKind, Vec<Request>)> {
        let keys = ["kind", "notes", "tool_requests"];
        let [kind, notes, requests] = self.members(value, way, keys)?;
        let kind = self.kind(kind, way);
        let notes = self.typed(notes, way, "notes", Kind::Text);
        let requests = self.list(requests, way, "tool_requests", Self::request);
        notes?;
        Some((kind?, requests?))
    }

    fn request(&mut self, value: Value, way: &Way) -> Option<Request> {
        let [arguments, tool_name] = self.members(value, way, ["arguments", "tool_name"])?;
        let tool_name = self.text(tool_name, way, "tool_name");
        self.object(arguments, way, "arguments")?;
        Some(Request { tool_name: tool_name?, arguments: identity::canonical(arguments) })
    }

    fn edge(&mut self, value: Value, way: &Way) -> Option<[String; 2]> {
        let mut items = value.items();
        match (items.next(), items.next(), items.next()) {
            (Some(from), Some(to), None) => {
                let from = self.item_text(from, &Way::Item(way, 0));
                let to = self.item_text(to, &Way::Item(way, 1));
                Some([from?, to?])
            }
            _ => self.wrong(value, way, "an array of two strings"),
        }
    }

    /// The members of an object that has these and no others.
    fn members<'a, const N: usize>(
        &mut self,
        value: Value<'a>,
        way: &Way,
        keys: [&'static str; N],
    ) -> Option<[Value<'a>; N]> {
        if value.kind() != Kind::Object {
            return self.wrong(value, way, Kind::Object.name());
        }
        let mut found = [None; N];
        for member in value.members() {
            match keys.iter().zip(&mut found).find(|(key, _)| member.is(key)) {
                Some((_, slot)) => *slot = Some(member.value),
                None => {
                    let pointer = Way::Key(way, &member.key()).to_string();
                    let place = place_of(pointer, &member.value.span());
                    self.failures.add(&KEY_UNKNOWN, place, KEY_UNKNOWN.finds);
                }
            }
        }
        for (key, _) in keys.iter().zip(&found).filter(|(_, slot)| slot.is_none()) {
            let place = place_of(Way::Key(way, key).to_string(), &value.span());
            self.failures.add(&KEY_MISSING, place, KEY_MISSING.finds);
        }
        let mut all = [value; N];
        for (slot, found) in all.iter_mut().zip(found) {
            *slot = found?;
        }
        Some(all)
    }

    /// Every item of a list; none where one is wrong, so that places stay what they are.
    fn list<T>(
        &mut self,
        value: Value,
        way: &Way,
        key: &str,
        read: impl Fn(&mut Self, Value, &Way) -> Option<T>,
    ) -> Option<Vec<T>> {
        let way = Way::Key(way, key);
        if value.kind() != Kind::List {
            return self.wrong(value, &way, Kind::List.name());
        }
        let items = value.items().enumerate();
        // Read to the end: what is wrong with the items behind a wrong one is told as well.
        let read: Vec<Option<T>> =
            items.map(|(at, item)| read(self, item, &Way::Item(&way, at))).collect();
        read.into_iter().collect()
    }

    fn kind(&mut self, value: Value, way: &Way) -> Option<StepKind> {
        let text = self.text(value, way, "kind")?;
        let kind = KINDS.into_iter().find(|kind| word(*kind) == text);
        if kind.is_none() {
            let place = place_of(Way::Key(way, "kind").to_string(), &value.span());
            self.failures.differs(&KIND, place, KINDS.map(word).join(", "), text);
        }
        kind
    }

    fn text(&mut self, value: Value, way: &Way, key: &str) -> Option<String> {
        self.item_text(value, &Way::Key(way, key))
    }

    fn item_text(&mut self, value: Value, way: &Way) -> Option<String> {
        match value.text() {
            Some(text) => Some(text.into_owned()),
            None => self.wrong(value, way, Kind::Text.name()),
        }
    }

    fn object(&mut self, value: Value, way: &Way, key: &str) -> Option<()> {
        self.typed(value, way, key, Kind::Object)
    }

    fn typed(&mut self, value: Value, way: &Way, key: &str, kind: Kind) -> Option<()> {
        match value.kind() == kind {
            true => Some(()),
            false => self.wrong(value, &Way::Key(way, key), kind.name()),
        }
    }

    fn wrong<T>(&mut self, value: Value, way: &Way, expected: &str) -> Option<T> {
        let place = place_of(way.to_string(), &value.span());
        self.failures.differs(&TYPE, place, expected, value.kind().name());
        None
    }
}
