//! The schemas of the kit, over whatever the host says.

use std::collections::BTreeMap;

use jsonschema::Validator;
use probity_conformance::Schema;
use serde_json::{Value, json};

/// Every schema by its name, and that of every payload by its type.
pub(crate) struct Shapes {
    documents: BTreeMap<&'static str, Validator>,
    payloads: BTreeMap<String, Validator>,
}

impl Shapes {
    pub(crate) fn load() -> Self {
        let compile = |schema: &Value| jsonschema::validator_for(schema).unwrap();
        let of = |schema: &Schema| {
            (schema.name(), compile(&serde_json::from_str(schema.text()).unwrap()))
        };
        let all: Value = serde_json::from_str(Schema::payloads()).unwrap();
        let payloads = all["$defs"].as_object().unwrap().keys().map(|kind| {
            let one = json!({"$ref": format!("#/$defs/{kind}"), "$defs": all["$defs"]});
            (kind.clone(), compile(&one))
        });
        Self { documents: Schema::ALL.iter().map(of).collect(), payloads: payloads.collect() }
    }

    pub(crate) fn holds(&self, schema: &str, document: &Value) {
        fits(&self.documents[schema], document, document);
    }

    /// An envelope, and the payload of its type, which must be a known one.
    pub(crate) fn is_event(&self, event: &Value) {
        self.holds("event", event);
        let kind = event["type"].as_str().unwrap();
        let payload = self.payloads.get(kind);
        fits(payload.unwrap_or_else(|| panic!("no schema of {kind}")), &event["payload"], event);
    }
}

fn fits(schema: &Validator, part: &Value, whole: &Value) {
    let faults: Vec<String> = schema.iter_errors(part).map(|fault| fault.to_string()).collect();
    assert!(faults.is_empty(), "{faults:?} in {whole}");
}
