import { group, text, url } from '@trunkline/config';

export const messengerOptions = group('Messenger', {
  messengerUrl: url({
    env: 'MESSENGER_URL',
    doc: "Address of a bridge to Signal (signal-cli's REST API); with MESSENGER_NUMBER it switches the surface on.",
  }),
  messengerNumber: text({ env: 'MESSENGER_NUMBER', doc: 'The number that the bridge is signed in with.' }),
  messengerRecipient: text({
    env: 'MESSENGER_RECIPIENT',
    doc: 'Who gets what names nobody, such as the results of schedules.',
  }),
});
