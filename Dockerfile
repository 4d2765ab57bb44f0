# Baton with its server and PostgreSQL: `docker build -t baton .`, then compose.yaml, or `docker run baton --help`.
FROM python:3.13-slim

ENV PYTHONUNBUFFERED=1 PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /srv/baton

COPY pyproject.toml constraints.txt README.md LICENSE langgraph.json ./
COPY state state
COPY nodes nodes
COPY graph graph
RUN pip install -c constraints.txt '.[postgres,server,office,semantic,notify,otel]' \
    && rm -rf state nodes graph \
    && useradd --create-home baton \
    && install -d -o baton /srv/files

USER baton
ENTRYPOINT ["baton"]
CMD ["--help"]
