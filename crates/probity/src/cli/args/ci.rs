//! What a job of a CI system is told.

use std::path::PathBuf;

use clap::Args;

/// Reports for the job that a run is part of. They say what the exit code says, and never change it.
#[derive(Debug, Clone, Default, Args)]
pub struct CiArgs {
    /// Report to the CI job that this runs in: annotations, and a summary in $GITHUB_STEP_SUMMARY.
    #[arg(long)]
    pub ci: bool,
    /// Append a summary to this file, in Markdown.
    #[arg(long, value_name = "FILE")]
    pub ci_summary: Option<PathBuf>,
    /// Write a JUnit report to this file: one test case for each check of the last attempt.
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Write a code quality report for GitLab to this file.
    #[arg(long, value_name = "FILE")]
    pub gitlab_report: Option<PathBuf>,
}
