"""The actions of a command: the forms in which an agent commits them."""

from subcog_hooks.text.actions import PREFIX, actions_of_call

FORMS = {  # of the actions that a rule may be about
    "delete": (
        *("rm -rf build/cache", "rm notes/old.md", "git clean -fdx", "kubectl delete deployment orders"),
        *("helm uninstall orders", "find . -name '*.log' -delete", "docker volume rm pgdata"),
        *("aws s3 rm --recursive s3://acme/x", 'psql -c "DELETE FROM invoices WHERE id < 9"'),
        *("terraform destroy -auto-approve", "gcloud sql instances delete main", "redis-cli FLUSHALL"),
    ),
    "install": (
        *("pip install requests", "python -m pip install -U flask", "pnpm add axios", "npm install lodash"),
        *("npm i -D vitest", "yarn add zod", "cargo add serde", "go get github.com/pkg/errors", "poetry add httpx"),
        *("uv add rich", "gem install rails", "composer require monolog/monolog"),
    ),
    "deploy": (
        *("make deploy ENV=prod", "kubectl apply -f k8s/prod", "kubectl rollout restart deploy/api"),
        *("helm upgrade orders ./chart", "fly deploy", "vercel deploy --prod", "gcloud run deploy api"),
        *("serverless deploy --stage prod", "cap production deploy", "docker stack deploy -c stack.yml app"),
        *("npm run deploy", "ansible-playbook deploy.yml -l prod"),
    ),
    "migrate": (
        *("alembic upgrade head", "python manage.py migrate", "bin/rails db:migrate", "npx prisma migrate deploy"),
        *("npx knex migrate:latest", "flyway migrate", "liquibase update", "php artisan migrate"),
        *("dotnet ef database update", "sqlx migrate run", "goose up", "make migrate"),
    ),
    "push": (
        *("git push", "git push origin main", "git push --force-with-lease", "git add -A && git commit -m x && git push"),
        *("git push -u origin feat/x", "cd web && git push", "jj git push", "git push --tags", "git -C api push"),
        *("gh repo sync && git push", "git push origin HEAD:refs/for/main", "sudo -u ci git push"),
    ),
    "release": (
        *("npm publish", "gh release create v1.2", "cargo publish", "twine upload dist/*", "poetry publish", "uv publish"),
        *("git tag -a v1.2 -m v1.2", "npm version minor", "make release", "goreleaser release", "mvn release:perform"),
        "./scripts/release.sh 1.2",
    ),
}
REPORTS = (
    *("git push --dry-run", "kubectl get pods", "helm list", "find . -name '*.log'", "git clean -n", "npm version"),
    "aws s3 ls",
)


def test_an_action_is_read_in_all_of_its_forms() -> None:
    unread = [
        form for action, forms in FORMS.items() for form in forms if PREFIX + action not in actions_of_call("Bash", form, "")
    ]
    assert unread == []


def test_a_command_that_only_reports_is_no_action() -> None:
    assert [form for form in REPORTS if actions_of_call("Bash", form, "")] == []


def test_an_action_is_seen_behind_a_wrapper_of_its_command() -> None:
    wrapped = {
        "commit": ('bash -c "git commit -m x"', "(cd web; git commit -am wip)"),
        "push": ("command git push", "env FOO=1 git push --force", "if git diff --quiet; then git push; fi"),
        "delete": ("find . -name '*.pyc' | xargs rm -f", "find . -name x -exec rm {} \\;", "sh -c 'rm -rf build'"),
        "testing": ("timeout 60 pytest -x", "docker run --rm app pytest"),
        "migrate": ('su - app -c "rails db:migrate"', "docker compose exec web python manage.py migrate"),
    }
    missed = [
        form for action, forms in wrapped.items() for form in forms if PREFIX + action not in actions_of_call("Bash", form, "")
    ]
    assert missed == []


def test_a_command_in_a_text_is_no_action() -> None:
    texts = ["cat > a.md <<'EOF'\ngit push\nEOF", "echo 'git push' > notes", "rg 'rm -rf' .", "python - <<'PY'\ngit push\nPY"]
    texts += ["find scripts -name deploy.sh", "fd deploy.sh", "docker logs deploy.sh", "time cat deploy.sh"]
    texts += ["# git push\nls", "git log --grep 'git push'", "find . -name test -type d"]
    assert [text for text in texts if actions_of_call("Bash", text, "")] == []


def test_deep_and_long_commands_are_read_to_their_end() -> None:
    for text in ("$(" * 5_000, "`" * 5_000, "bash -c " * 3_000, '"' * 9_999, "<<A\n" * 5_000, "\\" * 9_999, "a=" * 9_999):
        assert actions_of_call("Bash", text, "") == ()


def test_the_name_of_what_is_installed_is_no_action() -> None:
    installing = ("uv add pytest", "uv pip install pytest", "poetry add jest", "sudo apt install pytest")
    for command in ("docker build -t pytest .", *installing):
        assert PREFIX + "testing" not in actions_of_call("Bash", command, "")
