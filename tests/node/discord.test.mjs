//  discord.js runs a bot against the fake of Discord: what it takes for Discord is what our adapter is tested with. And what Discord refuses,
//  the fake refuses: shown by the SDK's own error.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { resolve } from 'node:path'
import { after, before, test } from 'node:test'

import { ActionRowBuilder, ButtonBuilder, ButtonStyle, Client, DiscordAPIError, Events, GatewayIntentBits, Partials, REST, Routes } from 'discord.js'

const TOKEN = 'MTUwMDAwMDAwMDAwMDAwMDAwMQ.GfAkE1.abcdefghijklmnopqrstuvwxyz0123456789ab'
const [BOT, GUILD, CHANNEL, VOICE, FORUM, ANA] = ['1500000000000000001', '1200000000000000001', '1300000000000000001',
  '1300000000000000002', '1300000000000000003', '1100000000000000001']
let child
let url
let rest

const control = async (what, given = {}) =>
  (await fetch(`${url}/control`, { method: 'POST', body: JSON.stringify({ do: what, with: given }) })).json()

before(async () => {
  child = spawn('/usr/bin/python3', [resolve(import.meta.dirname, '../fakes/fake_discord.py')], { stdio: ['pipe', 'pipe', 'inherit'], env: { ...process.env, FAKE_TOKEN: TOKEN } })
  url = 'http://127.0.0.1:' + await new Promise((resolve) => createInterface({ input: child.stdout }).once('line', resolve))
  rest = new REST({ api: `${url}/api`, retries: 0 }).setToken(TOKEN)
})

after(() => child.stdin.end())

test('a bot of discord.js hears, answers, asks, makes a thread and resumes', async () => {
  const { Guilds, GuildMessages, DirectMessages, MessageContent } = GatewayIntentBits
  const client = new Client({ intents: [Guilds, GuildMessages, DirectMessages, MessageContent], partials: [Partials.Channel],
    rest: { api: `${url}/api` } })
  await Promise.all([once(client, Events.ClientReady), client.login(TOKEN)])
  assert.equal(client.user.id, BOT)
  assert.equal(client.guilds.cache.get(GUILD).channels.cache.size, 3)
  const said = async (where, text) => {
    const heard = once(client, Events.MessageCreate)
    await control('say', { author: ANA, channel: where, text })
    return (await heard)[0]
  }
  const first = await said(CHANNEL, `<@${BOT}> hello`)
  assert.ok(first.mentions.has(client.user))
  await first.channel.sendTyping()
  await first.react('👀')
  const row = new ActionRowBuilder().addComponents(new ButtonBuilder().setCustomId('yes').setLabel('Yes').setStyle(ButtonStyle.Primary))
  const [answer] = await Promise.all([first.reply({ content: 'Which?', components: [row], files: [{ attachment: Buffer.from('abc'), name: 'a.txt' }] }),
    once(client, Events.MessageCreate)])
  assert.equal(answer.attachments.first().name, 'a.txt')
  const pressed = once(client, Events.InteractionCreate)
  await control('interact', { user: ANA, channel: CHANNEL, kind: 2, data: { id: '1600000000000000001', name: 'status', type: 1 } })
  const [interaction] = await pressed
  assert.ok(interaction.isChatInputCommand())
  await interaction.reply({ content: 'fine', flags: 64 })
  const thread = await first.startThread({ name: 'hello' })
  assert.equal(thread.id, first.id)
  assert.ok(thread.isThread())
  await Promise.all([answer.edit('changed'), once(client, Events.MessageCreate, thread.send('in the thread'))])
  await answer.delete()
  const resumed = once(client, Events.ShardResume)
  await control('cut_all')
  await resumed
  const last = await said(CHANNEL, 'after the cut')
  assert.equal(last.content, 'after the cut')
  await client.destroy()
})

test('what Discord refuses is refused', async () => {
  const messages = Routes.channelMessages(CHANNEL)
  const said = await control('say', { author: ANA, channel: CHANNEL, text: 'mine' })
  const sent = await rest.post(messages, { body: { content: 'x', nonce: 'n1', enforce_nonce: true } })
  assert.equal((await rest.post(messages, { body: { content: 'x', nonce: 'n1', enforce_nonce: true } })).id, sent.id)
  await rest.post(Routes.threads(CHANNEL, said), { body: { name: 'once' } })
  const button = (more) => ({ type: 2, style: 1, label: 'x', custom_id: 'x', ...more })
  const rows = (...buttons) => ({ content: 'x', components: [{ type: 1, components: buttons }] })
  const command = (name, description = 'x') => ({ name, description, type: 1 })
  const put = (body) => rest.put(Routes.applicationCommands(BOT), { body })
  const calls = [
    [50035, () => rest.post(messages, { body: { content: 'x'.repeat(2001) } })],
    [50035, () => rest.post(messages, { body: { content: 7 } })],
    [50006, () => rest.post(messages, { body: { content: '' } })],
    [50006, () => rest.post(messages, { body: { content: ' \n ' } })],
    [50035, () => rest.post(messages, { body: { content: 'x', nonce: 'x'.repeat(26) } })],
    [50035, () => rest.post(messages, { body: { content: 'x', message_reference: { message_id: '1' } } })],
    [50035, () => rest.post(messages, { body: { content: 'x', allowed_mentions: { parse: ['users'], users: [ANA] } } })],
    [50035, () => rest.post(messages, { body: rows(button({ custom_id: 'x'.repeat(101) })) })],
    [50035, () => rest.post(messages, { body: rows(button({ label: 'x'.repeat(81) })) })],
    [50035, () => rest.post(messages, { body: rows(button({}), button({})) })],
    [50035, () => rest.post(messages, { body: rows(...[1, 2, 3, 4, 5, 6].map((n) => button({ custom_id: `${n}` }))) })],
    [10003, () => rest.post(Routes.channelMessages('1'), { body: { content: 'x' } })],
    [10003, () => rest.get(Routes.channel('1'))],
    [50024, () => rest.post(Routes.channelMessages(FORUM), { body: { content: 'x' } })],
    [50024, () => rest.post(Routes.threads(VOICE), { body: { name: 'x', type: 11 } })],
    [50035, () => rest.post(Routes.threads(FORUM), { body: { name: 'x' } })],
    [50035, () => rest.post(Routes.threads(CHANNEL), { body: { name: 'x'.repeat(101), type: 11 } })],
    [160004, () => rest.post(Routes.threads(CHANNEL, said), { body: { name: 'twice' } })],
    [10008, () => rest.post(Routes.threads(CHANNEL, '1'), { body: { name: 'x' } })],
    [10008, () => rest.patch(Routes.channelMessage(CHANNEL, '1'), { body: { content: 'x' } })],
    [50005, () => rest.patch(Routes.channelMessage(CHANNEL, said), { body: { content: 'x' } })],
    [50035, () => rest.patch(Routes.channelMessage(CHANNEL, sent.id), { body: { content: 'x'.repeat(2001) } })],
    [10008, () => rest.delete(Routes.channelMessage(CHANNEL, '1'))],
    [10008, () => rest.put(Routes.channelMessageOwnReaction(CHANNEL, '1', '%F0%9F%91%80'))],
    [50033, () => rest.post(Routes.userChannels(), { body: { recipient_id: '1' } })],
    [50035, () => put([command('Upper')])],
    [50035, () => put([command('a'), command('a')])],
    [50035, () => put([command('a', 'x'.repeat(101))])],
    [30032, () => put(Array.from({ length: 101 }, (_, n) => command(`c${n}`)))],
    [10062, () => rest.post(Routes.interactionCallback('1', 'x'), { body: { type: 5 }, auth: false })]
  ]
  for (const [code, call] of calls) {
    await assert.rejects(call, (error) => error instanceof DiscordAPIError && error.code === code, String(call))
  }
  assert.ok(calls.length >= 20)
  const stranger = new REST({ api: `${url}/api`, retries: 0 }).setToken('nobody.x.y')
  await assert.rejects(() => stranger.get(Routes.user()), (error) => error.status === 401)
})
