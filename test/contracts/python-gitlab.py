"""What a foreign client does with GitLab: list, create, comment, approve, merge. Prints one JSON object of what it saw.

Usage: python-gitlab.py URL OWNER_TOKEN DEVELOPER_TOKEN PROJECT
"""

import json
import sys
import time

import gitlab


def wait_for(read, arrived, what):
    for _ in range(400):
        value = read()
        if arrived(value):
            return value
        time.sleep(0.05)
    raise SystemExit(f"gave up waiting for {what}")


def refusal(call):
    try:
        call()
    except gitlab.exceptions.GitlabError as error:
        return {"status": error.response_code, "text": str(error.error_message)}
    raise SystemExit("a call was expected to be refused, and worked")


def main():
    url, owner_token, developer_token, path = sys.argv[1:]
    owner = gitlab.Gitlab(url, private_token=owner_token, timeout=20)
    developer = gitlab.Gitlab(url, oauth_token=developer_token, timeout=20)
    owner.auth()
    project = owner.projects.get(path)
    seen = {"user": owner.user.username, "default_branch": project.default_branch}

    for number in range(3):
        branch = f"python/{number}"
        project.commits.create(
            {
                "branch": branch,
                "start_branch": project.default_branch,
                "commit_message": f"Add file {number}",
                "actions": [{"action": "create", "file_path": f"python-{number}.txt", "content": f"{number}\n"}],
            }
        )
        project.mergerequests.create(
            {
                "source_branch": branch,
                "target_branch": project.default_branch,
                "title": f"Add file {number}",
                "labels": ["python", "client"],
            }
        )

    listed = project.mergerequests.list(state="opened", per_page=2, iterator=True)
    seen["listed"] = sorted(merge_request.title for merge_request in listed)
    seen["total"] = listed.total

    [first] = project.mergerequests.list(source_branch="python/0", get_all=True)
    note = first.notes.create({"body": "Seen by python"})
    note.body = "Seen and changed by python"
    note.save()
    seen["notes"] = [note.body for note in first.notes.list(get_all=True) if not note.system]

    developer.projects.get(path).mergerequests.get(first.iid).approve()
    seen["approved_by"] = [entry["user"]["username"] for entry in first.approvals.get().approved_by]

    ready = wait_for(
        lambda: project.mergerequests.get(first.iid),
        lambda merge_request: merge_request.detailed_merge_status == "mergeable",
        "the merge request to be mergeable",
    )
    seen["stale"] = refusal(lambda: ready.merge(sha="a" * 40))
    ready.merge(sha=ready.sha, should_remove_source_branch=True)
    seen["state"] = project.mergerequests.get(first.iid).state
    seen["file"] = project.files.raw(file_path="python-0.txt", ref=project.default_branch).decode()
    seen["missing"] = refusal(lambda: project.mergerequests.get(9999))

    second = project.mergerequests.list(source_branch="python/1", get_all=True)[0]
    second.state_event = "close"
    second.save()
    seen["closed"] = [merge_request.title for merge_request in project.mergerequests.list(state="closed", get_all=True)]
    print(json.dumps(seen))


main()
