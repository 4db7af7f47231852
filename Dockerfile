# All four services in one image; compose.yaml runs one container for each of them.
FROM node:24-bookworm-slim
WORKDIR /srv/trunkline
# The sandbox of commands, MCP servers, coding agents and plugins (docs/sandbox.md). It needs user namespaces, which Docker's
# seccomp profile forbids: compose.yaml says how to allow them. Without, these programs are refused.
RUN apt-get update && apt-get install --yes --no-install-recommends bubblewrap && rm -rf /var/lib/apt/lists/*
COPY package.json package-lock.json .npmrc .env.example ./
COPY bin ./bin
COPY packages ./packages
COPY apps ./apps
# The pages at /help.
COPY docs ./docs
RUN npm ci && useradd --create-home trunkline && mkdir /data && chown trunkline /data
USER trunkline
ENV TRUNKLINE_HOME=/data
# The agent of the image serves no pages and listens on every address of the container. Set A2A_AUTH_TOKEN with it.
ENV CORE_UI=none CORE_HOST=0.0.0.0
VOLUME /data
ENTRYPOINT ["node", "--max-semi-space-size=16", "bin/trunkline.js"]
CMD ["up"]
