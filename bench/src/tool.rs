//! Small programs that the scripts of the rows call, so that no row depends on what is installed.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::error::BenchError;

/// Runs `words` as a tool: `sql FILE STATEMENTS`, `request METHOD URL`, `idle`.
pub(crate) fn run(words: &[String]) -> Result<(), BenchError> {
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["sql", file, statements] => {
            Ok(rusqlite::Connection::open(file)?.execute_batch(statements)?)
        }
        ["request", method, url] => request(method, url),
        ["idle"] => idle(),
        _ => Err(BenchError::Measure { what: "a tool", detail: format!("{words:?} is none") }),
    }
}

/// Runs until its standard input ends, so that it never outlives who started it.
fn idle() -> Result<(), BenchError> {
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink())
        .map(drop)
        .map_err(BenchError::io("wait"))
}

fn request(method: &str, url: &str) -> Result<(), BenchError> {
    let failed = BenchError::io("ask the service");
    let rest = url.strip_prefix("http://").unwrap_or(url);
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let mut stream = TcpStream::connect(host).map_err(&failed)?;
    stream.set_read_timeout(Some(Duration::from_secs(10))).map_err(&failed)?;
    let head = format!(
        "{method} /{path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).map_err(&failed)?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).map_err(&failed)?;
    let (_, body) = answer.split_once("\r\n\r\n").unwrap_or_default();
    println!("{body}");
    Ok(())
}
