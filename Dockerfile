# All four services in one image; compose.yaml runs one container for each of them.
FROM node:24-bookworm-slim
WORKDIR /srv/trunkline
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
ENTRYPOINT ["node", "bin/trunkline.js"]
CMD ["up"]
