//  Slack's own SDKs (Bolt, Socket Mode) run a bot against the fake of Slack: what they take for Slack is what our adapter is tested with. And
//  what Slack refuses, the fake refuses: shown by the SDK's own error.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { resolve } from 'node:path'
import { after, before, test } from 'node:test'

import bolt from '@slack/bolt'
import { SocketModeClient } from '@slack/socket-mode'
import { WebClient } from '@slack/web-api'

const { App, LogLevel } = bolt
const [TOKEN, APP_TOKEN] = ['xoxb-1-2-abcdefghijklmnop', 'xapp-1-A1-2-abcdefghijklmnop']
const [BOT, ANA, CHANNEL, OUTSIDE, ARCHIVED] = ['UBOT', 'U1', 'C1', 'C2', 'C3']
let child
let url

const control = async (what, given = {}) =>
  (await fetch(`${url}/control`, { method: 'POST', body: JSON.stringify({ do: what, with: given }) })).json()

before(async () => {
  child = spawn('/usr/bin/python3', [resolve(import.meta.dirname, '../fakes/fake_slack.py')], { stdio: ['pipe', 'pipe', 'inherit'], env: { ...process.env, FAKE_TOKEN: TOKEN, FAKE_APP_TOKEN: APP_TOKEN } })
  url = 'http://127.0.0.1:' + await new Promise((resolve) => createInterface({ input: child.stdout }).once('line', resolve))
})

after(() => child.stdin.end())

test('a bot of Bolt hears, answers, asks and takes a command', async () => {
  const app = new App({ token: TOKEN, appToken: APP_TOKEN, socketMode: true, logLevel: LogLevel.ERROR, clientOptions: { slackApiUrl: `${url}/api/` } })
  const heard = []
  let pressed
  const done = new Promise((resolve) => { pressed = resolve })
  app.message('hello', async ({ message, say }) => {
    heard.push(message.text)
    const sent = await say({ text: 'Which?', blocks: [{ type: 'section', text: { type: 'mrkdwn', text: '*Which?*' } },
      { type: 'actions', elements: [{ type: 'button', text: { type: 'plain_text', text: 'A' }, action_id: 'option0', value: 'a' }] }] })
    await control('press', { user: ANA, channel: CHANNEL, message: { ts: sent.ts }, value: 'a' })
  })
  app.action('option0', async ({ ack, action }) => {
    await ack()
    heard.push(action.value)
    await control('command', { user: ANA, channel: CHANNEL, command: '/argos', text: 'status' })
  })
  app.command('/argos', async ({ command, ack }) => {
    await ack('fine')
    heard.push(command.text)
    pressed()
  })
  await app.start()
  await control('say', { user: ANA, channel: CHANNEL, text: `<@${BOT}> hello` })
  await done
  await app.stop()
  assert.deepEqual(heard, [`<@${BOT}> hello`, 'a', 'status'])
})

test('Socket Mode changes to a new connection when it is told to', async () => {
  const client = new SocketModeClient({ appToken: APP_TOKEN, clientOptions: { slackApiUrl: `${url}/api/` }, logLevel: LogLevel.ERROR })
  const heard = once(client, 'message')
  await client.start()
  const again = once(client, 'connected')
  await control('announce', { reason: 'refresh_requested' })
  await again
  await control('say', { user: ANA, channel: CHANNEL, text: 'to the new one' })
  const [{ event, ack }] = await heard
  await ack()
  assert.equal(event.text, 'to the new one')
  await client.disconnect()
})

test('files go in three steps', async () => {
  const web = new WebClient(TOKEN, { slackApiUrl: `${url}/api/` })
  const { files } = await web.files.uploadV2({ channel_id: CHANNEL, filename: 'a.txt', file: Buffer.from('abc'), title: 'a' })
  assert.equal(files.length, 1)
})

test('what Slack refuses is refused', async () => {
  const make = (token) => new WebClient(token, { slackApiUrl: `${url}/api/`, retryConfig: { retries: 0 } })
  const web = make(TOKEN)
  const ts = await control('say', { user: ANA, channel: CHANNEL, text: 'mine' })
  const own = (await web.chat.postMessage({ channel: CHANNEL, text: 'x' })).ts
  await web.reactions.add({ channel: CHANNEL, timestamp: ts, name: 'eyes' })
  const section = (text) => ({ type: 'section', text: { type: 'mrkdwn', text } })
  const button = (n, more = {}) => ({ type: 'button', text: { type: 'plain_text', text: 'x' }, action_id: `a${n}`, value: 'x', ...more })
  const ask = (...elements) => web.chat.postMessage({ channel: CHANNEL, text: 'x', blocks: [{ type: 'actions', elements }] })
  const calls = [
    ['channel_not_found', () => web.chat.postMessage({ channel: 'C9', text: 'x' })],
    ['not_in_channel', () => web.chat.postMessage({ channel: OUTSIDE, text: 'x' })],
    ['is_archived', () => web.chat.postMessage({ channel: ARCHIVED, text: 'x' })],
    ['no_text', () => web.chat.postMessage({ channel: CHANNEL, text: '' })],
    ['thread_not_found', () => web.chat.postMessage({ channel: CHANNEL, text: 'x', thread_ts: '1.1' })],
    ['invalid_blocks', () => web.chat.postMessage({ channel: CHANNEL, text: 'x', blocks: [section('x'.repeat(3001))] })],
    ['invalid_blocks', () => web.chat.postMessage({ channel: CHANNEL, text: 'x', blocks: Array(51).fill(section('x')) })],
    ['invalid_blocks', () => ask(button(1), button(1))],
    ['invalid_blocks', () => ask(...Array.from({ length: 26 }, (_, n) => button(n)))],
    ['invalid_blocks', () => ask(button(1, { text: { type: 'plain_text', text: 'x'.repeat(76) } }))],
    ['invalid_blocks', () => ask(button(1, { value: 'x'.repeat(2001) }))],
    ['msg_too_long', () => web.chat.update({ channel: CHANNEL, ts: own, text: 'x'.repeat(4001) })],
    ['message_not_found', () => web.chat.update({ channel: CHANNEL, ts: '1.1', text: 'x' })],
    ['cant_update_message', () => web.chat.update({ channel: CHANNEL, ts, text: 'x' })],
    ['message_not_found', () => web.chat.delete({ channel: CHANNEL, ts: '1.1' })],
    ['cant_delete_message', () => web.chat.delete({ channel: CHANNEL, ts })],
    ['already_reacted', () => web.reactions.add({ channel: CHANNEL, timestamp: ts, name: 'eyes' })],
    ['no_reaction', () => web.reactions.remove({ channel: CHANNEL, timestamp: ts, name: 'x' })],
    ['invalid_name', () => web.reactions.add({ channel: CHANNEL, timestamp: ts, name: ':eyes:' })],
    ['message_not_found', () => web.reactions.add({ channel: CHANNEL, timestamp: '1.1', name: 'x' })],
    ['user_not_found', () => web.users.info({ user: 'U9' })],
    ['user_not_found', () => web.conversations.open({ users: 'U9' })],
    ['channel_not_found', () => web.conversations.info({ channel: 'C9' })],
    ['thread_not_found', () => web.conversations.replies({ channel: CHANNEL, ts: '1.1' })],
    ['not_in_channel', () => web.conversations.history({ channel: OUTSIDE })],
    ['file_not_found', () => web.files.completeUploadExternal({ files: [{ id: 'F9' }], channel_id: CHANNEL })],
    ['invalid_arguments', () => web.files.getUploadURLExternal({ filename: 'a', length: 0 })],
    ['unknown_method', () => web.apiCall('chat.nothing')],
    ['not_allowed_token_type', () => web.apps.connections.open()],
    ['not_allowed_token_type', () => make(APP_TOKEN).auth.test()],
    ['invalid_auth', () => make('xoxb-nobody').auth.test()]
  ]
  for (const [code, call] of calls) {
    await assert.rejects(call, (error) => error.data?.error === code, String(call))
  }
  assert.ok(calls.length >= 20)
})
