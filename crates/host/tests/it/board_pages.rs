//! The pages: who gets them, and what they may do.

use std::fs;
use std::path::Path;

use probity_core::Outcome;
use reqwest::Method;
use serde_json::json;

use crate::desk::Desk;
use crate::face::Face;

fn assets() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/board");
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, fs::read_to_string(path).unwrap())
        })
        .collect()
}

#[tokio::test]
async fn the_page_and_its_files_need_no_key_and_may_run_nothing_of_others() {
    let desk = Desk::new().await;
    let mut paths = vec!["/dashboard".to_owned()];
    let names = assets().into_iter().map(|(name, _)| name);
    paths.extend(names.filter(|name| name != "index.html").map(|it| format!("/dashboard/{it}")));
    for path in paths {
        let answer = desk.ask("", Method::GET, &path).send().await.unwrap();
        assert_eq!(answer.status(), 200, "{path}");
        let headers = answer.headers().clone();
        let policy = headers["content-security-policy"].to_str().unwrap();
        for rule in [
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "connect-src 'self'",
            "img-src 'self' data:",
            "base-uri 'none'",
            "frame-ancestors 'none'",
        ] {
            assert!(policy.split("; ").any(|it| it == rule), "{path}: {policy}");
        }
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(headers["x-content-type-options"], "nosniff");
        assert_eq!(headers["referrer-policy"], "no-referrer");
        assert!(headers.get("set-cookie").is_none());
        let kind = headers["content-type"].to_str().unwrap();
        let wanted = match path.rsplit('.').next().unwrap() {
            "js" => "text/javascript",
            "css" => "text/css",
            "svg" => "image/svg+xml",
            _ => "text/html",
        };
        assert!(kind.starts_with(wanted), "{path}: {kind}");
        let tag = headers["etag"].clone();
        let again = desk.ask("", Method::GET, &path).header("if-none-match", tag);
        let again = again.send().await.unwrap();
        assert_eq!(
            (again.status().as_u16(), again.text().await.unwrap().len()),
            (304, 0),
            "{path}"
        );
    }
    let slash = desk.ask("", Method::GET, "/dashboard/").send().await.unwrap();
    assert_eq!(slash.url().path(), "/dashboard");
    for path in ["/dashboard/none.js", "/dashboard/..%2fCargo.toml", "/dashboard/index.html"] {
        let answer = desk.ask("", Method::GET, path).send().await.unwrap();
        assert_eq!(answer.status(), 404, "{path}");
    }
}

#[tokio::test]
async fn a_host_without_a_board_has_no_dashboard() {
    let face = Face::new().await;
    face.get("/dashboard").await.is_failure(404, "not_found");
    face.get("/api/v1/board/runs").await.is_failure(404, "not_found");
}

/// Whatever comes from a delegate becomes a text node. None of the ways to write markup is there.
#[test]
fn no_script_writes_markup() {
    let files = assets();
    assert!(files.iter().filter(|(name, _)| name.ends_with(".js")).count() > 5);
    for (name, text) in files {
        for word in [
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "new Function",
            "createContextualFragment",
            "DOMParser",
            "srcdoc",
            "javascript:",
            "setTimeout(\"",
            "import(",
            "localStorage.setItem(KEY",
            "document.cookie",
        ] {
            assert!(!text.contains(word), "{name}: {word}");
        }
        if name.ends_with(".html") {
            for word in ["<style", "style=", " onclick", " onload", "http://", "https://"] {
                assert!(!text.contains(word), "{name}: {word}");
            }
            assert!(!text.contains("<script>"), "{name}");
        }
        // Nothing is fetched from elsewhere.
        if name.ends_with(".css") {
            assert!(!text.contains("url(") && !text.contains("@import"), "{name}");
        }
    }
}

#[tokio::test]
async fn markup_that_was_claimed_stays_a_string() {
    let desk = Desk::new().await;
    let markup = "good <script>alert(1)</script><img src=x onerror=alert(2)>";
    let task = "<b>be</b> good </script>";
    let run = desk.submit(json!({"task": task, "says": markup, "kind": "honest"})).await;
    desk.to_seal(&run).await;
    let answer = desk.get(&format!("/api/v1/board/runs/{run}")).await;
    assert_eq!(answer.headers["content-type"], "application/json");
    assert_eq!(answer.json["run"]["outcome"], Outcome::Verified.as_str());
    let steps = answer.json["run"]["steps"].as_array().unwrap();
    let claim = steps.iter().find(|step| step["kind"] == "claim").unwrap();
    assert!(claim["texts"][0]["text"].as_str().unwrap().starts_with(markup));
    let list = desk.get("/api/v1/board/runs").await;
    assert_eq!(list.json["runs"][0]["title"], task);
}
