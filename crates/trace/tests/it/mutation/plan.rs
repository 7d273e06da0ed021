//! G: the plan.

use serde_json::{Value, json};

use super::{Row, Run};

pub(super) const ROWS: &[Row] = &[
    ("G01 another problem id", "trace_plan_spec_id", |run| {
        plan(run, |plan| plan["spec_id"] = "x".into())
    }),
    ("G02 another id", "trace_id_plan", |run| plan(run, |plan| plan["id"] = "plan_v1_0".into())),
    ("G03 no nodes", "trace_plan_empty", |run| plan(run, |plan| plan["nodes"] = json!([]))),
    ("G04 hardly anything", "trace_plan_key_missing", |run| {
        run.put("plan.json", "{\"spec_id\":\"x\"}\n");
    }),
    ("G05 the plan of another run", "trace_header_plan_id", |run| {
        let other = Run::of(&probity_trace::sample::SampleRun::default());
        run.put("plan.json", other.text("plan.json"));
    }),
    ("G06 a node that never ran", "trace_step_not_run", |run| {
        plan(run, |plan| {
            let mut node = plan["nodes"][0].clone();
            node["id"] = "extra".into();
            plan["nodes"].as_array_mut().expect("nodes").push(node);
        });
    }),
    ("G07 a dependency that is missing", "trace_plan_dependency_missing", |run| {
        node(run, 1, |node| node["dependencies"] = json!(["nothing"]));
    }),
    ("G08 a circle", "trace_plan_cycle", |run| {
        plan(run, |plan| plan["nodes"][0]["dependencies"] = json!([plan["nodes"][1]["id"]]));
    }),
    ("G09 a node twice", "trace_plan_node_twice", |run| {
        plan(run, |plan| {
            let node = plan["nodes"][0].clone();
            plan["nodes"].as_array_mut().expect("nodes").push(node);
        });
    }),
    ("G10 other kinds", "trace_output_kind", |run| {
        plan(run, |plan| {
            for at in [0, 1] {
                let kind = if at == 0 { "gather" } else { "understand" };
                plan["nodes"][at]["kind"] = kind.into();
                plan["nodes"][at]["step"]["kind"] = kind.into();
            }
        });
    }),
    ("G11 edges to nowhere", "trace_plan_edges", |run| {
        plan(run, |plan| plan["edges"] = json!([["a", "b"]]));
    }),
    ("G12 unknown key", "trace_plan_key_unknown", |run| plan(run, |plan| plan["x"] = 1.into())),
    ("G13 a version", "trace_plan_key_unknown", |run| {
        plan(run, |plan| plan["schema_version"] = 99.into());
    }),
    ("G14 wrapped", "trace_plan_wrapped", |run| {
        plan(run, |plan| *plan = json!({"canonical_version": 99, "data": plan}));
    }),
    ("G15 another problem", "trace_plan_problem", |run| {
        plan(run, |plan| plan["problem"] = "Why?".into());
    }),
    ("G16 no requests", "trace_tool_unrequested", |run| {
        node(run, 1, |node| node["step"]["tool_requests"] = json!([]));
    }),
    ("G17 other arguments", "trace_call_arguments", |run| {
        node(run, 1, |node| node["step"]["tool_requests"][0]["arguments"] = json!({}));
    }),
    ("G18 a key twice", "trace_plan_key_twice", |run| {
        run.rewrite("plan.json", |text| text.replacen("\"nodes\":", "\"nodes\":[],\"nodes\":", 1));
    }),
    ("G19 no dependencies", "trace_id_node", |run| {
        node(run, 1, |node| node["dependencies"] = json!([]));
    }),
    ("G20 instructions of another kind", "trace_plan_step_kind", |run| {
        node(run, 1, |node| node["step"]["kind"] = "derive".into());
    }),
    ("G21 no problem id", "trace_plan_key_missing", |run| {
        plan(run, |plan| drop(plan.as_object_mut().expect("an object").remove("spec_id")));
    }),
    ("G22 cut off", "trace_plan_json", |run| {
        run.rewrite("plan.json", |text| text[..text.len() / 2].to_owned());
    }),
    ("G23 null", "trace_plan_type", |run| run.put("plan.json", "null\n")),
    ("G24 waits for itself", "trace_plan_dependency_self", |run| {
        plan(run, |plan| plan["nodes"][1]["dependencies"] = json!([plan["nodes"][1]["id"]]));
    }),
    ("G25 another node id everywhere", "trace_id_node", |run| {
        let text = run.text("plan.json");
        let at = text.find("node_v1_").expect("a node");
        let id = text[at..at + 72].to_owned();
        run.rewrite("plan.json", |text| text.replace(&id, "step-1"));
        run.trace(|text| text.replace(&id, "step-1"));
    }),
    ("G26 other parameters", "trace_id_node", |run| {
        node(run, 1, |node| node["parameters"]["x"] = 1.into());
    }),
    ("G27 another preset", "trace_preset", |run| {
        node(run, 1, |node| node["parameters"]["preset"] = "other".into());
    }),
    ("G28 blanks", "trace_plan_uncanonical", |run| {
        run.rewrite("plan.json", |text| text.replacen(':', ": ", 1));
    }),
    ("G29 problem: blanks", "trace_document_uncanonical", |run| {
        run.rewrite("spec.json", |text| text.replacen(':', ": ", 1));
    }),
    ("G30 problem: unknown key", "trace_document_key_unknown", |run| {
        run.json("spec.json", |spec| spec["x"] = 1.into());
    }),
    ("G31 problem: no version", "trace_document_key_missing", |run| {
        run.json("spec.json", |spec| {
            drop(spec.as_object_mut().expect("an object").remove("version"))
        });
    }),
    ("G32 problem: version true", "trace_document_type", |run| {
        run.json("spec.json", |spec| spec["version"] = true.into());
    }),
    ("G33 problem: a key twice", "trace_document_key_twice", |run| {
        run.rewrite("spec.json", |text| {
            text.replacen("\"expected\":", "\"expected\":null,\"expected\":", 1)
        });
    }),
    ("G34 problem: another description everywhere", "trace_id_spec", |run| {
        run.json("spec.json", |spec| spec["description"] = "Why?".into());
        plan(run, |plan| plan["problem"] = "Why?".into());
    }),
];

/// What a new seal mends.
pub(super) const SEALED_ROWS: &[Row] = &[("G35 other notes", "trace_invariant_checksum", |run| {
    node(run, 1, |node| node["step"]["notes"] = "Else.".into());
})];

fn plan(run: &mut Run, change: impl FnOnce(&mut Value)) {
    run.json("plan.json", change);
}

fn node(run: &mut Run, at: usize, change: impl FnOnce(&mut Value)) {
    plan(run, |plan| change(&mut plan["nodes"][at]));
}
